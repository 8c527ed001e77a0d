use core::{fmt, mem};
use std::future::poll_fn;
use std::vec::Vec;

use bytes::Bytes;

use super::PollReady;
use super::handle::{FailureOf, Handle};
use crate::link::Piece;
use smbd_core::error::CloseReason;

/// The half of a connection that receives messages. After it is dropped, messages that arrive are discarded.
pub struct Receiver<B: PollReady> {
    handle: Handle<B>,
    /// What `recv` has of a message in pieces.
    begun: Vec<u8>,
}

impl<B: PollReady> Receiver<B> {
    pub(super) const fn new(handle: Handle<B>) -> Self {
        Self { handle, begun: Vec::new() }
    }

    /// Returns the next message, in the order in which the peer sent them. Waits for it. Of a connection
    /// [in pieces](super::Options::in_pieces) it puts them together; after a [`recv_piece`](Self::recv_piece) that is the
    /// rest of the message.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, no message is lost.
    ///
    /// # Errors
    /// The connection has ended, and all messages that arrived were returned:
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which it cannot be driven.
    pub async fn recv(&mut self) -> Result<Bytes, FailureOf<B>> {
        loop {
            let Piece { bytes, remaining } = self.recv_piece().await?;
            if remaining == 0 && self.begun.is_empty() {
                return Ok(bytes);
            }
            self.begun.extend_from_slice(&bytes);
            if remaining == 0 {
                return Ok(mem::take(&mut self.begun).into());
            }
        }
    }

    /// Returns the next fragment of a message, if the connection is [in pieces](super::Options::in_pieces), else the next
    /// message. Waits for it. When the connection has ended, the rest of a message may be missing.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, nothing is lost.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    pub async fn recv_piece(&mut self) -> Result<Piece, FailureOf<B>> {
        let shared = self.handle.shared();
        match poll_fn(|cx| shared.poll_message(cx)).await {
            Some(piece) => Ok(piece),
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
