//! The call that is measured, and nothing else; and what in it is not.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use allocation_counter::{measure, opt_out};
use smbd_testkit::crowd::{counted, is_counted};

#[inline(never)]
pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    if is_counted() { counted(bytes, || task.poll(cx)) } else { task.poll(cx) }
}

/// What threads do in the program. Callgrind stops to collect when a function of this module calls another one.
#[inline(never)]
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    if !is_counted() {
        return work();
    }
    let mut done = None;
    opt_out(|| done = Some(work()));
    done.expect("it was called")
}

/// The bytes that are allocated by the work and kept.
fn bytes(work: &mut dyn FnMut()) -> i64 {
    measure(work).bytes_current
}
