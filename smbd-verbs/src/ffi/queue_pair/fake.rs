//! A queue pair that only takes work requests, for tests of the queues.

use std::{cell::RefCell, ffi::c_int, mem, ptr::NonNull};

use crate::ffi::sys::{ibv_context, ibv_qp, ibv_recv_wr, ibv_send_wr};

// Shared: for tests.
thread_local! {
    /// The `wr_id`s of each call, and how many more work requests are taken.
    static TAKEN: RefCell<(Vec<Vec<u64>>, usize)> = const { RefCell::new((Vec::new(), usize::MAX)) };
}

macro_rules! post {
    ($name:ident, $request:ident) => {
        unsafe extern "C" fn $name(_: *mut ibv_qp, first: *mut $request, bad: *mut *mut $request) -> c_int {
            TAKEN.with_borrow_mut(|(calls, room)| {
                let mut call = Vec::new();
                let mut next = first;
                // SAFETY: a chain that is handed over ends with a null pointer.
                while let Some(request) = unsafe { next.as_ref() } {
                    if *room == 0 {
                        // SAFETY: there is a place for the refused one.
                        unsafe { *bad = next };
                        break;
                    }
                    *room -= 1;
                    call.push(request.wr_id);
                    next = request.next;
                }
                calls.push(call);
                if next.is_null() { 0 } else { libc::ENOMEM }
            })
        }
    };
}
post!(post_send, ibv_send_wr);
post!(post_recv, ibv_recv_wr);

/// The structures of C that a post looks at. They stay where they are.
pub(super) struct Fake {
    queue: Box<ibv_qp>,
    _context: Box<ibv_context>,
}

impl Fake {
    pub(super) fn new() -> Self {
        // SAFETY: integers, pointers and optional functions; all may be zero.
        let (mut queue, mut context) =
            unsafe { (Box::new(mem::zeroed::<ibv_qp>()), Box::new(mem::zeroed::<ibv_context>())) };
        context.ops.post_send = Some(post_send);
        context.ops.post_recv = Some(post_recv);
        queue.context = &raw mut *context;
        TAKEN.set((Vec::new(), usize::MAX));
        Self { queue, _context: context }
    }

    pub(super) fn queue(&mut self) -> NonNull<ibv_qp> {
        NonNull::from(&mut *self.queue)
    }

    /// Takes so many more work requests.
    pub(super) fn take_only(&mut self, room: usize) {
        TAKEN.with_borrow_mut(|taken| taken.1 = room);
    }

    /// The `wr_id`s of each call since the last question.
    pub(super) fn calls(&mut self) -> Vec<Vec<u64>> {
        TAKEN.with_borrow_mut(|taken| mem::take(&mut taken.0))
    }
}
