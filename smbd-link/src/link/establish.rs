//! From a backend to an established connection.

use std::future::poll_fn;
use std::task::{Context, Poll};

use smbd_core::Negotiated;

use super::{Event, FailureOf, Link, Rest};
use crate::{Failure, Messages, PollReady};

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Link<B, N, C> {
    /// Waits until the connection is established, and returns what was negotiated as well. What is left of one that is not, or whose
    /// future is dropped, goes to `leave`.
    ///
    /// # Errors
    /// [`Failure::Connect`]: it is not established. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: a fault of this side.
    pub async fn established(self, leave: fn(Rest<B, N, C>)) -> Result<(Self, Negotiated), FailureOf<B>> {
        let mut left = Left { link: Some(self), leave };
        let established = poll_fn(|cx| left.poll_established(cx)).await?;
        // It is there until it was established.
        left.link.take().map(|link| (link, established)).ok_or(Failure::NoDriver)
    }

    /// Drives the connection. Ready when it is established, or over. To be called before any other poll.
    pub fn poll_established(&mut self, cx: &mut Context<'_>) -> Poll<Result<Negotiated, FailureOf<B>>> {
        loop {
            match self.poll_event(cx) {
                Poll::Ready(Event::Established(negotiated)) => return Poll::Ready(Ok(negotiated)),
                Poll::Ready(Event::Ended(Err(failure))) => return Poll::Ready(Err(failure)),
                Poll::Ready(Event::Ended(Ok(reason))) => return Poll::Ready(Err(Failure::Closed(reason))),
                Poll::Ready(_) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// A link that goes to `leave` when it is dropped.
struct Left<B: PollReady, N: Copy + PartialEq, C: Messages> {
    link: Option<Link<B, N, C>>,
    leave: fn(Rest<B, N, C>),
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Left<B, N, C> {
    fn poll_established(&mut self, cx: &mut Context<'_>) -> Poll<Result<Negotiated, FailureOf<B>>> {
        self.link.as_mut().map_or(Poll::Pending, |link| link.poll_established(cx))
    }
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Drop for Left<B, N, C> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            (self.leave)(link.into_rest());
        }
    }
}
