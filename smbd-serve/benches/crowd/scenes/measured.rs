//! The call that is measured, and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use allocation_counter::measure;
use smbd_testkit::crowd::{counted, is_counted};

#[inline(never)]
pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    if is_counted() { counted(bytes, || task.poll(cx)) } else { task.poll(cx) }
}

/// The bytes that are allocated by the work and kept.
fn bytes(work: &mut dyn FnMut()) -> i64 {
    measure(work).bytes_current
}
