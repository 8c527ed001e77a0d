use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::tokio::sync::oneshot;

use super::PollReady;
use super::common::Common;
use crate::Failure;

/// The result of an RDMA operation that is queued. It is ready when the operation is finished. Commands that are queued after
/// it was returned come behind the operation.
///
/// Dropping it does not end the operation; its result is lost. Like a clone of the [`Sender`](super::Sender) it keeps the
/// connection from ending.
#[must_use = "an operation that nobody waits for may fail unseen"]
pub struct Operation<B: PollReady> {
    pub(super) common: Arc<Common<B>>,
    pub(super) told: oneshot::Receiver<Result<(), Failure<B::Error>>>,
}

impl<B: PollReady> Future for Operation<B> {
    type Output = Result<(), Failure<B::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let told = Pin::new(&mut this.told).poll(cx);
        told.map(|told| told.unwrap_or_else(|_| Err(this.common.over())))
    }
}

impl<B: PollReady> fmt::Debug for Operation<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}
