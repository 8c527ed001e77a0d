//! The connection as a program uses it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::sync::oneshot;
use bytes::Bytes;

use super::PollReady;
use super::common::Common;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::{Failure, Registration};
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Negotiated};

/// An established connection: a [`Sender`], which can be cloned, and a [`Receiver`]. Their methods say more about the calls of the same
/// name here: the limits, what is cancel safe, the errors.
///
/// Dropping it without [`close`](Self::close) ends the connection at once, unless a clone of its sender is left.
pub struct Connection<B: PollReady> {
    sender: Sender<B>,
    receiver: Receiver<B>,
}

/// A future that is ready when the connection is established or has failed. The [`Driver`](super::Driver) must be
/// polled meanwhile. Dropping it ends the connection at once.
pub struct Connecting<B: PollReady> {
    /// `None` when it was ready.
    pub(super) waiting: Option<(oneshot::Receiver<Negotiated>, Arc<Common<B>>)>,
}

impl<B: PollReady> Future for Connecting<B> {
    type Output = Result<Connection<B>, Failure<B::Error>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Polled again after it was ready, it never is.
        let Some((established, _)) = &mut self.waiting else { return Poll::Pending };
        let Poll::Ready(told) = Pin::new(established).poll(cx) else { return Poll::Pending };
        let Some((_, common)) = self.waiting.take() else { return Poll::Pending };
        Poll::Ready(match told {
            Ok(negotiated) => {
                let receiver = Receiver { common: Arc::clone(&common), begun: Vec::new() };
                Ok(Connection { sender: Sender { common, negotiated }, receiver })
            }
            Err(_) => Err(common.over()),
        })
    }
}

impl<B: PollReady> Connection<B> {
    /// Splits the connection into its halves, for use in different tasks.
    #[must_use]
    pub fn split(self) -> (Sender<B>, Receiver<B>) {
        (self.sender, self.receiver)
    }

    /// The sending half, which can be cloned.
    #[must_use]
    pub const fn sender(&self) -> &Sender<B> {
        &self.sender
    }

    /// The negotiated values.
    #[must_use]
    pub const fn negotiated(&self) -> Negotiated {
        self.sender.negotiated()
    }

    /// Queues a message. Waits only for room.
    ///
    /// # Errors
    /// The errors of [`Sender::send`].
    pub async fn send(&self, message: Bytes) -> Result<(), Failure<B::Error>> {
        self.sender.send(message).await
    }

    /// Waits until all queued messages are sent.
    ///
    /// # Errors
    /// The errors of [`Sender::flush`].
    pub async fn flush(&self) -> Result<(), Failure<B::Error>> {
        self.sender.flush().await
    }

    /// Returns the next message. Waits for it. This method is cancel safe.
    ///
    /// # Errors
    /// The errors of [`Receiver::recv`].
    pub async fn recv(&mut self) -> Result<Bytes, Failure<B::Error>> {
        self.receiver.recv().await
    }

    /// Reads `len` bytes of the peer's memory into `buffer` (3.1.4.6). Waits until that is done.
    ///
    /// # Errors
    /// The errors of [`Sender::rdma_read`].
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        self.sender.rdma_read(buffer, remote, offset, len).await
    }

    /// Writes `len` bytes of `buffer` to the peer's memory (3.1.4.5). Waits until that is done.
    ///
    /// # Errors
    /// The errors of [`Sender::rdma_write`].
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        self.sender.rdma_write(buffer, remote, offset, len).await
    }

    /// Gives the peer access to all of `buffer` (3.1.4.3). Waits for the device.
    ///
    /// # Errors
    /// The errors of [`Sender::register`].
    pub async fn register(
        &self,
        buffer: &B::Buffer,
        access: Access,
    ) -> Result<Registration, Failure<B::Error>> {
        self.sender.register(buffer, access).await
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device.
    ///
    /// # Errors
    /// The errors of [`Sender::deregister`].
    pub async fn deregister(&self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        self.sender.deregister(registration).await
    }

    /// Closes the connection as [`Sender::close`] does, and discards messages that were not received. Waits until the
    /// connection is drained. Returns the reason of its end.
    ///
    /// # Cancel safety
    /// If the future is dropped after its first poll, the connection continues to close. If it is dropped before, the
    /// connection is dropped with it.
    ///
    /// # Errors
    /// The errors of [`Sender::close`].
    pub async fn close(self, within: Duration) -> Result<CloseReason, Failure<B::Error>> {
        let Self { sender, receiver } = self;
        drop(receiver);
        sender.close(within).await
    }
}

impl<B: PollReady> fmt::Debug for Connection<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("negotiated", &self.sender.negotiated()).finish_non_exhaustive()
    }
}

impl<B: PollReady> fmt::Debug for Connecting<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connecting").finish_non_exhaustive()
    }
}
