//! What a program has of a connection.

use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use ::tokio::sync::{mpsc, oneshot};
use bytes::Bytes;

use super::PollReady;
use super::handle::{Ended, FailureOf, Handle};
use super::receiver::Receiver;
use super::sender::{CommandOf, Sender};
use super::shared::Shared;
use crate::error::CloseReason;
use crate::runtime::Registration;
use crate::{Access, BufferDescriptorV1, Negotiated};

/// An established connection. Dropped without [`close`](Self::close), it ends at once, unless it was [`split`](Self::split).
///
/// `send` and what else is asked for go through its [`Sender`], which can be cloned, messages come through its [`Receiver`].
pub struct Connection<B: PollReady> {
    sender: Sender<B>,
    receiver: Receiver<B>,
}

/// A connection that is coming up. Dropped, it is given up.
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
    /// Both halves, for tasks of their own.
    #[must_use]
    pub fn split(self) -> (Sender<B>, Receiver<B>) {
        (self.sender, self.receiver)
    }

    /// The half that asks, to be cloned.
    #[must_use]
    pub const fn sender(&self) -> &Sender<B> {
        &self.sender
    }

    /// What was settled on.
    #[must_use]
    pub const fn negotiated(&self) -> Negotiated {
        self.sender.negotiated()
    }

    /// As [`Sender::send`].
    ///
    /// # Errors
    /// As there.
    pub async fn send(&self, message: Bytes) -> Result<(), FailureOf<B>> {
        self.sender.send(message).await
    }

    /// As [`Sender::flush`].
    ///
    /// # Errors
    /// As there.
    pub async fn flush(&self) -> Result<(), FailureOf<B>> {
        self.sender.flush().await
    }

    /// As [`Receiver::recv`].
    ///
    /// # Errors
    /// As there.
    pub async fn recv(&mut self) -> Result<Bytes, FailureOf<B>> {
        self.receiver.recv().await
    }

    /// As [`Sender::rdma_read`].
    ///
    /// # Errors
    /// As there.
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.sender.rdma_read(buffer, remote, offset, len).await
    }

    /// As [`Sender::rdma_write`].
    ///
    /// # Errors
    /// As there.
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.sender.rdma_write(buffer, remote, offset, len).await
    }

    /// As [`Sender::register`].
    ///
    /// # Errors
    /// As there.
    pub async fn register(&self, buffer: &B::Buffer, access: Access) -> Result<Registration, FailureOf<B>> {
        self.sender.register(buffer, access).await
    }

    /// As [`Sender::deregister`].
    ///
    /// # Errors
    /// As there.
    pub async fn deregister(&self, registration: &Registration) -> Result<(), FailureOf<B>> {
        self.sender.deregister(registration).await
    }

    /// Sends what is queued, for at most `within`, ends the connection and waits until everything posted is back. Messages that
    /// were not received are thrown away. Tells why the connection ended, if it had before.
    ///
    /// Given up, the connection goes on closing.
    ///
    /// # Errors
    /// This side broke a contract, the system failed, or the driver was dropped.
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
