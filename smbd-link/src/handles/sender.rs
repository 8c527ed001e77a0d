use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::tokio::sync::{mpsc, oneshot};
use bytes::Bytes;

use super::PollReady;
use super::command::{Answer, Command, Transfer};
use super::handle::{FailureOf, Handle};
use super::operation::Operation;
use crate::Registration;
use smbd_core::error::{CloseReason, SendError};
use smbd_core::{Access, BufferDescriptorV1, Negotiated, RdmaVerb, Token};

pub(super) type CommandOf<B> = Command<<B as smbd_core::backend::Backend>::Buffer, <B as PollReady>::Error>;

/// The half of a connection that sends messages and other commands. Clones use the same connection. It ends at once
/// when the last clone and its [`Receiver`](super::Receiver) are dropped.
pub struct Sender<B: PollReady> {
    handle: Handle<B>,
    commands: mpsc::Sender<CommandOf<B>>,
    negotiated: Negotiated,
}

impl<B: PollReady> Sender<B> {
    pub(super) const fn new(
        handle: Handle<B>,
        commands: mpsc::Sender<CommandOf<B>>,
        negotiated: Negotiated,
    ) -> Self {
        Self { handle, commands, negotiated }
    }

    /// The negotiated values.
    #[must_use]
    pub const fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    /// Queues a message of 1 to `max_fragmented_send_size` bytes ([`negotiated`](Self::negotiated), 3.1.4.2) behind all
    /// earlier commands. Waits only for room. The message is sent when the peer grants credits; [`flush`](Self::flush)
    /// waits for that. It is lost if the connection ends first.
    ///
    /// There is room for [`Params::message_slots`](smbd_core::Params::message_slots) messages in the endpoint, and for
    /// [`COMMANDS`](super::COMMANDS) commands of any kind before it. Room becomes free as the peer grants credits. Two
    /// sides that only send and never receive block each other until one of them ends the connection (3.1.5.1).
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message is not queued, and its place among waiting calls is
    /// lost.
    ///
    /// # Errors
    /// [`Failure::Send`](crate::Failure::Send): the message is empty or too long.
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which the connection cannot be
    /// driven: it is closing or has ended.
    pub async fn send(&self, message: Bytes) -> Result<(), FailureOf<B>> {
        self.queue(message, None).await
    }

    /// Queues a message like [`send`](Self::send). Its last fragment invalidates the peer's token `token`, if the
    /// transport can do that ([`Limits::send_with_invalidate`](smbd_core::Limits)).
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the message is not queued.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send).
    pub async fn send_invalidating(&self, message: Bytes, token: Token) -> Result<(), FailureOf<B>> {
        self.queue(message, Some(token)).await
    }

    async fn queue(&self, payload: Bytes, invalidate: Option<Token>) -> Result<(), FailureOf<B>> {
        let (len, max) = (u32::try_from(payload.len()), self.negotiated.max_fragmented_send_size);
        let len = len.unwrap_or(u32::MAX);
        if len == 0 {
            return Err(SendError::Empty.into());
        }
        if len > max {
            return Err(SendError::TooLong { len, max }.into());
        }
        self.command(Command::Send { payload, invalidate }).await
    }

    /// Waits until all messages that were queued before are sent. It does not wait for the peer to receive them; only an
    /// answer of the peer proves that.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, the messages stay queued.
    ///
    /// # Errors
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which the connection cannot be
    /// driven: it is closing or has ended, and messages may be lost.
    pub async fn flush(&self) -> Result<(), FailureOf<B>> {
        self.ask(Command::Flush).await
    }

    /// Reads `len` bytes of the peer's buffer that `remote` describes, from byte `offset` of it on, into the beginning
    /// of `buffer` (3.1.4.6). Waits for room, and until the operation is finished.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped after the command was queued, the operation continues
    /// and its result is lost. The device may write to the buffer until the operation is finished.
    ///
    /// # Errors
    /// [`Failure::Rdma`](crate::Failure::Rdma): the range is too long or not inside the descriptors, or the
    /// connection allows no RDMA Read. [`Failure::Operation`](crate::Failure::Operation): the operation
    /// failed, or the connection ended. [`Failure::Closed`](crate::Failure::Closed), or the error because of
    /// which the connection cannot be driven: it ended before the operation started.
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.start_rdma_read(buffer, remote, offset, len).await?.await
    }

    /// Writes the first `len` bytes of `buffer` to the peer's buffer that `remote` describes, from byte `offset` of it
    /// on (3.1.4.5). Waits for room, and until the operation is finished. A message that is queued after it arrives
    /// after it.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped after the command was queued, the operation continues
    /// and its result is lost. The device may read the buffer until the operation is finished, so its bytes should not
    /// change.
    ///
    /// # Errors
    /// [`Failure::Rdma`](crate::Failure::Rdma): the range is too long or not inside the descriptors.
    /// [`Failure::Operation`](crate::Failure::Operation): the operation failed, or the connection ended.
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which the connection cannot be
    /// driven: it ended before the operation started.
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        self.start_rdma_write(buffer, remote, offset, len).await?.await
    }

    /// Queues the operation of [`rdma_read`](Self::rdma_read), and returns its result as a future. Waits only for room.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the operation is not queued.
    ///
    /// # Errors
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which the connection cannot be
    /// driven: it ended before the operation was queued. The [`Operation`] has all others.
    pub async fn start_rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<Operation<B>, FailureOf<B>> {
        self.start(RdmaVerb::Read, buffer, remote, offset, len).await
    }

    /// Queues the operation of [`rdma_write`](Self::rdma_write), and returns its result as a future. Waits only for room. A
    /// message that is queued after this is ready arrives after the data.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the operation is not queued.
    ///
    /// # Errors
    /// The errors of [`start_rdma_read`](Self::start_rdma_read).
    pub async fn start_rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<Operation<B>, FailureOf<B>> {
        self.start(RdmaVerb::Write, buffer, remote, offset, len).await
    }

    async fn start(
        &self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<Operation<B>, FailureOf<B>> {
        let transfer = Transfer { verb, buffer: buffer.clone(), remote: Arc::clone(remote), offset, len };
        let (answer, told) = oneshot::channel();
        self.command(Command::Rdma { transfer, answer }).await?;
        Ok(Operation::new(self.handle.clone(), told))
    }

    /// Gives the peer access to all of `buffer`, with exactly these rights, on this connection only (3.1.4.3). Waits
    /// for the device, and returns the registration with its descriptors.
    ///
    /// # Cancel safety
    /// If the future is dropped, the driver deregisters the buffer if it was registered.
    ///
    /// # Errors
    /// [`Failure::Register`](crate::Failure::Register): no registration is free.
    /// [`Failure::Registration`](crate::Failure::Registration): the provider refused, or the connection ended.
    /// [`Failure::Closed`](crate::Failure::Closed), or the error because of which the connection cannot be
    /// driven: it is closing or has ended.
    pub async fn register(&self, buffer: &B::Buffer, access: Access) -> Result<Registration, FailureOf<B>> {
        let buffer = buffer.clone();
        let offer = self.ask(|answer| Command::Register { buffer, access, answer }).await?;
        Ok(offer.claim())
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device. After `Ok` the peer cannot access
    /// the buffer any more.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped after the command was queued, the access still ends,
    /// and the result is lost.
    ///
    /// # Errors
    /// [`Failure::Register`](crate::Failure::Register): the registration is not valid.
    /// [`Failure::Registration`](crate::Failure::Registration): the provider refused, or the connection ended,
    /// which ends the access too. [`Failure::Closed`](crate::Failure::Closed), or the error because of which
    /// the connection cannot be driven: it is closing or has ended.
    pub async fn deregister(&self, registration: &Registration) -> Result<(), FailureOf<B>> {
        let name = registration.name;
        self.ask(|answer| Command::Deregister { name, answer }).await
    }

    /// Returns a token of this side that the peer has invalidated and whose registration is not deregistered, each
    /// token once; `None` if there is no other. Returns at once. A token is available before the message that
    /// invalidated it.
    #[must_use]
    pub fn invalidated(&self) -> Option<Token> {
        self.handle.shared().take_invalidated()
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3). Waits for the peer's next message and returns
    /// the time until it. A connection has one probe at a time.
    ///
    /// # Cancel safety
    /// If the future is dropped after the command was queued, the probe continues and its result is lost.
    ///
    /// # Errors
    /// [`Failure::Command`](crate::Failure::Command): another probe is not finished.
    /// [`Failure::Probe`](crate::Failure::Probe): the peer sent nothing within the answer timeout, or the
    /// connection ended. [`Failure::Closed`](crate::Failure::Closed), or the error because of which the
    /// connection cannot be driven: it is closing or has ended.
    pub async fn probe(&self) -> Result<Duration, FailureOf<B>> {
        self.ask(Command::Probe).await
    }

    /// Finishes earlier commands for at most `within`, and then ends the connection. Waits until it is drained. Returns
    /// the reason of its end, also if it ended before. New commands are refused when the driver handles the first poll
    /// of this future. If several handles close, the first `within` counts.
    ///
    /// # Cancel safety
    /// If the future is dropped after its first poll, the connection continues to close. The method can be called
    /// again.
    ///
    /// # Errors
    /// [`Failure::Drive`](crate::Failure::Drive): this side broke a contract.
    /// [`Failure::Backend`](crate::Failure::Backend): the backend failed.
    /// [`Failure::NoDriver`](crate::Failure::NoDriver): the driver was dropped.
    pub async fn close(&self, within: Duration) -> Result<CloseReason, FailureOf<B>> {
        self.handle.shared().wish(|wishes| {
            wishes.close.get_or_insert(within);
        });
        self.ended().await
    }

    /// Waits until the connection is drained, and returns the reason of its end. It does not end the connection. This
    /// method is cancel safe.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    pub async fn ended(&self) -> Result<CloseReason, FailureOf<B>> {
        self.handle.ended().await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(Answer<T, B::Error>) -> CommandOf<B>,
    ) -> Result<T, FailureOf<B>> {
        let (answer, told) = oneshot::channel();
        self.command(command(answer)).await?;
        told.await.unwrap_or_else(|_| Err(self.handle.over()))
    }

    async fn command(&self, command: CommandOf<B>) -> Result<(), FailureOf<B>> {
        match self.commands.reserve().await {
            Ok(place) => {
                place.send(command);
                Ok(())
            }
            Err(_) => Err(self.handle.over()),
        }
    }
}

impl<B: PollReady> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), commands: self.commands.clone(), negotiated: self.negotiated }
    }
}

impl<B: PollReady> fmt::Debug for Sender<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("negotiated", &self.negotiated).finish_non_exhaustive()
    }
}
