//! The call that is measured, and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::crowd::{counted, is_counted};

#[inline(never)]
pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    if is_counted() { counted(|| task.poll(cx)) } else { task.poll(cx) }
}
