//! A connection that has no user any more.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_core::Endpoint;

use super::Link;
use crate::{Messages, PollReady};

/// What is left of a connection that is over, or whose user has gone: a future that ends it and is ready when that is done, with its
/// backend. Dropping the backend may block for a long time (`smbd-verbs` names the devices), so drop it on a thread that may block.
/// Dropping the future ends the connection at once.
#[must_use = "a connection that nobody drives does not end in order"]
pub struct Rest<B: PollReady, N, C: Messages = Endpoint> {
    /// `None` when it has told.
    link: Option<Link<B, N, C>>,
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Rest<B, N, C> {
    pub(super) fn new(mut link: Link<B, N, C>) -> Self {
        link.ignore_messages();
        link.abort();
        Self { link: Some(link) }
    }

    /// Whether the connection has ended, so that only its backend is left. The future is ready at once then.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.link.as_ref().is_none_or(Link::is_over)
    }
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Future for Rest<B, N, C> {
    type Output = B;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<B> {
        let this = self.get_mut();
        // Polled again after it was ready, it never is.
        let Some(link) = &mut this.link else { return Poll::Pending };
        while !link.is_over() {
            // Nobody wants to know of them.
            if link.poll_event(cx).is_pending() && !link.is_over() {
                return Poll::Pending;
            }
        }
        this.link.take().map_or(Poll::Pending, |link| Poll::Ready(link.into_backend()))
    }
}

// Nothing in it is pinned.
impl<B: PollReady, N, C: Messages> Unpin for Rest<B, N, C> {}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> fmt::Debug for Rest<B, N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("is_over", &self.is_over()).finish_non_exhaustive()
    }
}
