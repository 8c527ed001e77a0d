//! The connection as a program uses it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::tokio::sync::{mpsc, oneshot};
use bytes::Bytes;

use super::PollReady;
use super::handle::{Ended, FailureOf, Handle};
use super::receiver::Receiver;
use super::sender::{CommandOf, Sender};
use super::shared::Shared;
use crate::Registration;
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Negotiated};

/// An established connection: a [`Sender`], which can be cloned, and a [`Receiver`].
///
/// Dropping it without [`close`](Self::close) ends the connection at once, unless a clone of its sender is left.
pub struct Connection<B: PollReady> {
    sender: Sender<B>,
    receiver: Receiver<B>,
}

/// A future that is ready when the connection is established or has failed. The [`Driver`](super::Driver) must be
/// polled meanwhile. Dropping it ends the connection at once.
pub struct Connecting<B: PollReady> {
    established: oneshot::Receiver<Result<Negotiated, FailureOf<B>>>,
    /// `None` when it is up.
    parts: Option<(Handle<B>, mpsc::Sender<CommandOf<B>>)>,
}

impl<B: PollReady> Connecting<B> {
    pub(super) fn new(
        shared: Arc<Shared<B::Error>>,
        ended: Ended<B>,
        commands: mpsc::Sender<CommandOf<B>>,
        established: oneshot::Receiver<Result<Negotiated, FailureOf<B>>>,
    ) -> Self {
        Self { established, parts: Some((Handle::new(shared, ended), commands)) }
    }
}

impl<B: PollReady> Future for Connecting<B> {
    type Output = Result<Connection<B>, FailureOf<B>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Poll::Ready(told) = Pin::new(&mut this.established).poll(cx) else { return Poll::Pending };
        // Polled again after it was ready, it never is.
        let Some((handle, commands)) = this.parts.take() else { return Poll::Pending };
        Poll::Ready(match told {
            Ok(Ok(negotiated)) => {
                let receiver = Receiver::new(handle.clone());
                Ok(Connection { sender: Sender::new(handle, commands, negotiated), receiver })
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(handle.over()),
        })
    }
}

// Nothing in it is pinned.
impl<B: PollReady> Unpin for Connecting<B> {}

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

    /// Queues a message. Waits only for room. See [`Sender::send`].
    ///
    /// # Errors
    /// [`Failure::Send`](crate::Failure::Send) or [`Failure::Closed`](crate::Failure::Closed): see
    /// [`Sender::send`].
    pub async fn send(&self, message: Bytes) -> Result<(), FailureOf<B>> {
        self.sender.send(message).await
    }

    /// Waits until all queued messages are sent. See [`Sender::flush`].
    ///
    /// # Errors
    /// [`Failure::Closed`](crate::Failure::Closed): see [`Sender::flush`].
    pub async fn flush(&self) -> Result<(), FailureOf<B>> {
        self.sender.flush().await
    }

    /// Returns the next message. Waits for it. This method is cancel safe. See [`Receiver::recv`].
    ///
    /// # Errors
    /// [`Failure::Closed`](crate::Failure::Closed): see [`Receiver::recv`].
    pub async fn recv(&mut self) -> Result<Bytes, FailureOf<B>> {
        self.receiver.recv().await
    }

    /// Reads `len` bytes of the peer's memory into `buffer` (3.1.4.6). Waits until that is done. See
    /// [`Sender::rdma_read`].
    ///
    /// # Errors
    /// [`Failure::Rdma`](crate::Failure::Rdma) or [`Failure::Operation`](crate::Failure::Operation):
    /// see [`Sender::rdma_read`].
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.sender.rdma_read(buffer, remote, offset, len).await
    }

    /// Writes `len` bytes of `buffer` to the peer's memory (3.1.4.5). Waits until that is done. See
    /// [`Sender::rdma_write`].
    ///
    /// # Errors
    /// [`Failure::Rdma`](crate::Failure::Rdma) or [`Failure::Operation`](crate::Failure::Operation):
    /// see [`Sender::rdma_write`].
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.sender.rdma_write(buffer, remote, offset, len).await
    }

    /// Gives the peer access to all of `buffer` (3.1.4.3). Waits for the device. See [`Sender::register`].
    ///
    /// # Errors
    /// [`Failure::Register`](crate::Failure::Register) or
    /// [`Failure::Registration`](crate::Failure::Registration): see [`Sender::register`].
    pub async fn register(&self, buffer: &B::Buffer, access: Access) -> Result<Registration, FailureOf<B>> {
        self.sender.register(buffer, access).await
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device. See [`Sender::deregister`].
    ///
    /// # Errors
    /// [`Failure::Register`](crate::Failure::Register) or
    /// [`Failure::Registration`](crate::Failure::Registration): see [`Sender::deregister`].
    pub async fn deregister(&self, registration: &Registration) -> Result<(), FailureOf<B>> {
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
    pub async fn close(self, within: Duration) -> Result<CloseReason, FailureOf<B>> {
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
