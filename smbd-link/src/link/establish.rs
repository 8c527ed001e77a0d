//! From a backend to an established connection, which is left in order.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use smbd_core::{Endpoint, Negotiated};

use super::{Event, FailureOf, Link, Rest};
use crate::{Failure, Messages, PollReady};

/// A link of which the rest goes to a function when its owner leaves it, or is dropped.
pub struct Owned<B: PollReady, N: Copy + PartialEq, C: Messages = Endpoint> {
    /// `None` when it was left.
    link: Option<Link<B, N, C>>,
    leave: fn(Rest<B, N, C>),
    remote_invalidation: bool,
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Owned<B, N, C> {
    /// Says whether the peer can invalidate registrations of this side (3.1.5.8). Until then it cannot.
    #[must_use]
    pub const fn with_remote_invalidation(mut self, is_possible: bool) -> Self {
        self.remote_invalidation = is_possible;
        self
    }

    /// Whether the peer can invalidate registrations of this side.
    #[must_use]
    pub const fn remote_invalidation(&self) -> bool {
        self.remote_invalidation
    }

    /// The link; `None` if it was left.
    #[must_use]
    pub const fn get(&self) -> Option<&Link<B, N, C>> {
        self.link.as_ref()
    }

    /// The link; `None` if it was left.
    pub const fn get_mut(&mut self) -> Option<&mut Link<B, N, C>> {
        self.link.as_mut()
    }

    /// Gives the connection up. If it has not ended, the rest ends it at once.
    pub fn leave(&mut self) {
        if let Some(link) = self.link.take() {
            (self.leave)(link.into_rest());
        }
    }
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Drop for Owned<B, N, C> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> fmt::Debug for Owned<B, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Owned").field(&self.link).finish()
    }
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Link<B, N, C> {
    /// Waits until the connection is established, and returns what was negotiated as well. What is left of it goes to `leave`, also of one
    /// that is not established, or whose future is dropped.
    ///
    /// # Errors
    /// [`Failure::Connect`]: it is not established. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: a fault of this side.
    pub async fn established(
        self,
        leave: fn(Rest<B, N, C>),
    ) -> Result<(Owned<B, N, C>, Negotiated), FailureOf<B>> {
        let mut owned = Owned { link: Some(self), leave, remote_invalidation: false };
        let established = poll_fn(|cx| match owned.get_mut() {
            Some(link) => link.poll_established(cx),
            None => Poll::Pending,
        });
        let negotiated = established.await?;
        Ok((owned, negotiated))
    }

    /// Drives the connection. Ready when it is established, or over. To be called before any other poll.
    pub(super) fn poll_established(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Negotiated, FailureOf<B>>> {
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
