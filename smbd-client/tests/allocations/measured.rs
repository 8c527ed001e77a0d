//! Allocations of the tasks that are measured.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use allocation_counter::measure;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// How many there were since this was asked last.
pub fn allocations() -> u64 {
    COUNT.take()
}

pub fn poll(task: Pin<&mut dyn Future<Output = ()>>, cx: &mut Context<'_>) -> Poll<()> {
    let mut polled = Poll::Pending;
    let info = measure(|| polled = task.poll(cx));
    COUNT.set(COUNT.get() + info.count_total);
    polled
}
