//! The call that is measured, and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

#[inline(never)]
pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    task.poll(cx)
}
