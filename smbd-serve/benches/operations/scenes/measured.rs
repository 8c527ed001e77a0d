//! The call that is measured, and nothing else; and what in it is not.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

#[inline(never)]
pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    task.poll(cx)
}

/// What threads do in the program. Callgrind stops to collect when a function of this module calls another one.
#[inline(never)]
pub fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}
