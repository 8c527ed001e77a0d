use std::future::poll_fn;
use std::sync::Arc;
use std::{fmt, mem};

use bytes::Bytes;

use super::PollReady;
use super::common::Common;
use crate::Failure;
use crate::link::Piece;
use smbd_core::error::CloseReason;

/// The half of a connection that receives messages. After it is dropped, messages that arrive are discarded.
pub struct Receiver<B: PollReady> {
    pub(super) common: Arc<Common<B>>,
    /// The begin of a message in pieces, of which `recv` waits for the rest.
    pub(super) begun: Vec<u8>,
}

impl<B: PollReady> Receiver<B> {
    /// Returns the next message, in the order in which the peer sent them. Waits for it. Of a connection
    /// [in pieces](super::Options::in_pieces) it puts them together; after a [`recv_piece`](Self::recv_piece) that is the
    /// rest of the message.
    ///
    /// A message of one fragment shares its memory, of up to 16 KiB, with those before and after it ([`Chunks`]): it is to be copied if
    /// it is kept for long.
    ///
    /// [`Chunks`]: smbd_core::endpoint::Chunks
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, no message is lost.
    ///
    /// # Errors
    /// The connection has ended, and all messages that arrived were returned:
    /// [`Failure::Closed`], or the error because of which it cannot be driven.
    pub async fn recv(&mut self) -> Result<Bytes, Failure<B::Error>> {
        loop {
            let Piece { bytes, remaining } = self.recv_piece().await?;
            if remaining == 0 && self.begun.is_empty() {
                return Ok(bytes.freeze());
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
    pub async fn recv_piece(&mut self) -> Result<Piece, Failure<B::Error>> {
        let piece = poll_fn(|cx| self.common.shared.poll_recv(cx)).await;
        piece.ok_or_else(|| self.common.over())
    }

    /// Waits until the connection is drained, and returns the reason of its end. This method is cancel safe. It does
    /// the same as [`Sender::ended`](super::Sender::ended).
    ///
    /// # Errors
    /// The errors of [`Sender::close`](super::Sender::close).
    pub async fn ended(&self) -> Result<CloseReason, Failure<B::Error>> {
        self.common.ended().await
    }
}

impl<B: PollReady> Drop for Receiver<B> {
    fn drop(&mut self) {
        self.common.shared.wish(|state| state.inbox.ignore());
    }
}

impl<B: PollReady> fmt::Debug for Receiver<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
