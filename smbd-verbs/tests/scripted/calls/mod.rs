//! The functions of libibverbs and librdmacm. They have no rules of their own: `world` notes what happens.
#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    missing_docs,
    reason = "C's interface: smbd-verbs passes structures that these functions made and did not free"
)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::{mem, ptr, slice};

use libc::sockaddr;

mod cm;
mod device;
mod verbs;

use crate::sys::*;
use crate::world::{Call, Completed, Completions, Happened, Posted, Queue, Sent, world};
pub(crate) use cm::create_id;

/// Makes a structure of C.
fn make<T>(kind: &'static str, set: impl FnOnce(&mut T)) -> *mut T {
    // All structures of C are integers, pointers and optional functions.
    let mut made = Box::new(unsafe { mem::zeroed::<T>() });
    set(&mut made);
    let made = Box::into_raw(made);
    world(|world| world.objects.insert(made.addr(), kind));
    made
}

fn free<T>(made: *mut T) {
    let known = world(|world| world.objects.remove(&made.addr()));
    assert!(known.is_some(), "what is freed exists");
    drop(unsafe { Box::from_raw(made) });
}

fn fail(errno: c_int) -> c_int {
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// Notes a call, which the script may have fail; as librdmacm returns it.
fn call(name: &'static str) -> c_int {
    world(|world| world.called(name)).map_or(0, fail)
}

/// As [`call`], of a call that makes something.
fn make_in<T>(name: &'static str, kind: &'static str, set: impl FnOnce(&mut T)) -> *mut T {
    if call(name) == 0 { make(kind, set) } else { ptr::null_mut() }
}

/// The bytes of a work request's elements.
unsafe fn bytes(elements: &[ibv_sge]) -> Vec<u8> {
    let of = |element: &ibv_sge| unsafe {
        slice::from_raw_parts(
            ptr::with_exposed_provenance::<u8>(element.addr as usize),
            element.length as usize,
        )
        .to_vec()
    };
    elements.iter().flat_map(of).collect()
}

unsafe fn elements<'a>(first: *const ibv_sge, count: c_int) -> &'a [ibv_sge] {
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count as usize) } }
}

/// Writes a message into the oldest receive, and reports it with a length.
pub(crate) fn receive(message: &[u8], len: u32, completed: Completed) {
    let posted = world(|world| world.receives.pop_front()).expect("a receive is posted");
    world(|world| world.check(posted.key, posted.addr, posted.len));
    assert!(message.len() <= posted.len as usize, "the message fits");
    let to = ptr::with_exposed_provenance_mut::<u8>(posted.addr as usize);
    unsafe { ptr::copy_nonoverlapping(message.as_ptr(), to, message.len()) };
    world(|world| world.complete(Completed { ticket: posted.ticket, len, ..completed }));
}

/// This test's device.
fn context() -> *mut ibv_context {
    let (known, events) = world(|world| (world.context, world.async_events.fd()));
    let known = known.unwrap_or_else(|| device::open(events));
    world(|world| world.context = Some(known));
    ptr::with_exposed_provenance_mut(known)
}
