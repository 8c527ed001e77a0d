use core::fmt;
use core::future::poll_fn;

use bytes::Bytes;

use super::PollReady;
use super::handle::{FailureOf, Handle};
use crate::error::CloseReason;

/// The half of a connection that receives messages. After it is dropped, messages that arrive are discarded.
pub struct Receiver<B: PollReady> {
    handle: Handle<B>,
}

impl<B: PollReady> Receiver<B> {
    pub(super) const fn new(handle: Handle<B>) -> Self {
        Self { handle }
    }

    /// Returns the next message, in the order in which the peer sent them. Waits for it.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, no message is lost.
    ///
    /// # Errors
    /// The connection has ended, and all messages that arrived were returned:
    /// [`Failure::Closed`](crate::runtime::Failure::Closed), or the error because of which it cannot be driven.
    pub async fn recv(&mut self) -> Result<Bytes, FailureOf<B>> {
        let shared = self.handle.shared();
        match poll_fn(|cx| shared.poll_message(cx)).await {
            Some(message) => Ok(message),
            None => Err(self.handle.over()),
        }
    }

    /// Waits until the connection is drained, and returns the reason of its end. This method is cancel safe. It does
    /// the same as [`Sender::ended`](super::Sender::ended).
    ///
    /// # Errors
    /// The errors of [`Sender::close`](super::Sender::close).
    pub async fn ended(&self) -> Result<CloseReason, FailureOf<B>> {
        self.handle.ended().await
    }
}

impl<B: PollReady> Drop for Receiver<B> {
    fn drop(&mut self) {
        self.handle.shared().wish(|wishes| wishes.deaf = true);
    }
}

impl<B: PollReady> fmt::Debug for Receiver<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
