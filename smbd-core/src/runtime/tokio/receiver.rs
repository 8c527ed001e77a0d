use core::fmt;
use core::future::poll_fn;

use bytes::Bytes;

use super::PollReady;
use super::handle::{FailureOf, Handle};
use crate::error::CloseReason;

/// The half of a connection that receives messages. Once it is dropped, messages that come are thrown away.
pub struct Receiver<B: PollReady> {
    handle: Handle<B>,
}

impl<B: PollReady> Receiver<B> {
    pub(super) const fn new(handle: Handle<B>) -> Self {
        Self { handle }
    }

    /// The next message, in the order they were sent.
    ///
    /// Given up, no message is lost.
    ///
    /// # Errors
    /// The connection has ended, and all messages that had arrived were received.
    pub async fn recv(&mut self) -> Result<Bytes, FailureOf<B>> {
        let shared = self.handle.shared();
        match poll_fn(|cx| shared.poll_message(cx)).await {
            Some(message) => Ok(message),
            None => Err(self.handle.over()),
        }
    }

    /// As [`Sender::ended`](super::Sender::ended).
    ///
    /// # Errors
    /// As there.
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
