use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::tokio::sync::oneshot;

use super::PollReady;
use super::handle::{FailureOf, Handle};

/// The result of an RDMA operation that is queued. It is ready when the operation is finished. Commands that are queued after
/// it was returned come behind the operation.
///
/// Dropping it does not end the operation; its result is lost. Like a clone of the [`Sender`](super::Sender) it keeps the
/// connection from ending.
#[must_use = "an operation that nobody waits for may fail unseen"]
pub struct Operation<B: PollReady> {
    handle: Handle<B>,
    told: oneshot::Receiver<Result<(), FailureOf<B>>>,
}

impl<B: PollReady> Operation<B> {
    pub(super) const fn new(handle: Handle<B>, told: oneshot::Receiver<Result<(), FailureOf<B>>>) -> Self {
        Self { handle, told }
    }
}

impl<B: PollReady> Future for Operation<B> {
    type Output = Result<(), FailureOf<B>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let told = Pin::new(&mut this.told).poll(cx);
        told.map(|told| told.unwrap_or_else(|_| Err(this.handle.over())))
    }
}

// Nothing in it is pinned.
impl<B: PollReady> Unpin for Operation<B> {}

impl<B: PollReady> fmt::Debug for Operation<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}
