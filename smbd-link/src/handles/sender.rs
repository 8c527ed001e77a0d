use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::tokio::sync::oneshot;
use bytes::Bytes;

use super::PollReady;
use super::command::Command;
use super::common::Common;
use super::operation::Operation;
use super::shared::End;
use crate::{Failure, Registration};
use smbd_core::error::{CloseReason, SendError};
use smbd_core::{Access, BufferDescriptorV1, Negotiated, RdmaVerb, Token};

/// The half of a connection that sends messages and other commands. Clones use the same connection. It ends at once
/// when the last clone and its [`Receiver`](super::Receiver) are dropped.
///
/// # Errors
/// When the connection is closing or has ended, a command fails with [`Failure::Closed`], or with the error because of
/// which the connection cannot be driven: [`Failure::Drive`], [`Failure::Backend`] or [`Failure::NoDriver`].
pub struct Sender<B: PollReady> {
    pub(super) common: Arc<Common<B>>,
    pub(super) negotiated: Negotiated,
}

impl<B: PollReady> Sender<B> {
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
    /// [`Failure::Send`]: the message is empty or too long. Or the [end](Self#errors) of the connection.
    pub async fn send(&self, message: Bytes) -> Result<(), Failure<B::Error>> {
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
    pub async fn send_invalidating(&self, message: Bytes, token: Token) -> Result<(), Failure<B::Error>> {
        self.queue(message, Some(token)).await
    }

    async fn queue(&self, payload: Bytes, invalidate: Option<Token>) -> Result<(), Failure<B::Error>> {
        let (len, max) = (u32::try_from(payload.len()), self.negotiated.max_fragmented_send_size);
        let len = len.unwrap_or(u32::MAX);
        if len == 0 {
            return Err(SendError::Empty.into());
        }
        if len > max {
            return Err(SendError::TooLong { len, max }.into());
        }
        self.common.command(Command::Send { payload, invalidate }).await
    }

    /// Waits until all messages that were queued before are sent. It does not wait for the peer to receive them; only an
    /// answer of the peer proves that.
    ///
    /// # Cancel safety
    /// This method is cancel safe. If the future is dropped, the messages stay queued.
    ///
    /// # Errors
    /// The [end](Self#errors) of the connection. Messages may be lost then.
    pub async fn flush(&self) -> Result<(), Failure<B::Error>> {
        self.common.ask(Command::Flush).await
    }

    /// Reads `len` bytes of the peer's buffer that `remote` describes, from byte `offset` of it on, into the beginning
    /// of `buffer` (3.1.4.6). Waits for room, and until the operation is finished.
    ///
    /// # Cancel safety
    /// This method is not cancel safe. If the future is dropped after the command was queued, the operation continues
    /// and its result is lost. The device may write to the buffer until the operation is finished.
    ///
    /// # Errors
    /// [`Failure::Rdma`]: the range is too long or not inside the descriptors, or the connection allows no RDMA Read.
    /// [`Failure::Operation`]: the operation failed, or the connection ended. Or the [end](Self#errors) of the
    /// connection, before the operation started.
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        self.start(RdmaVerb::Read, buffer, remote, offset, len).await?.await
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
    /// [`Failure::Rdma`]: the range is too long or not inside the descriptors. [`Failure::Operation`]: the operation
    /// failed, or the connection ended. Or the [end](Self#errors) of the connection, before the operation started.
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        self.start(RdmaVerb::Write, buffer, remote, offset, len).await?.await
    }

    /// Queues the operation of [`rdma_read`](Self::rdma_read), and returns its result as a future. Waits only for room.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the operation is not queued.
    ///
    /// # Errors
    /// The [end](Self#errors) of the connection, before the operation was queued. The [`Operation`] has all others.
    pub async fn start_rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<Operation<B>, Failure<B::Error>> {
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
    ) -> Result<Operation<B>, Failure<B::Error>> {
        self.start(RdmaVerb::Write, buffer, remote, offset, len).await
    }

    async fn start(
        &self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<Operation<B>, Failure<B::Error>> {
        let (buffer, remote) = (buffer.clone(), Arc::clone(remote));
        let (answer, told) = oneshot::channel();
        self.common.command(Command::Rdma { verb, buffer, remote, offset, len, answer }).await?;
        Ok(Operation { common: Arc::clone(&self.common), told })
    }

    /// Gives the peer access to all of `buffer`, with exactly these rights, on this connection only (3.1.4.3). Waits
    /// for the device, and returns the registration with its descriptors.
    ///
    /// # Cancel safety
    /// If the future is dropped, the driver deregisters the buffer if it was registered.
    ///
    /// # Errors
    /// [`Failure::Register`]: no registration is free. [`Failure::Registration`]: the provider refused, or the
    /// connection ended. Or the [end](Self#errors) of the connection, before the buffer was registered.
    pub async fn register(
        &self,
        buffer: &B::Buffer,
        access: Access,
    ) -> Result<Registration, Failure<B::Error>> {
        let buffer = buffer.clone();
        let offer = self.common.ask(|answer| Command::Register { buffer, access, answer }).await?;
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
    /// [`Failure::Register`]: the registration is not valid. [`Failure::Registration`]: the provider refused, or the
    /// connection ended, which ends the access too. Or the [end](Self#errors) of the connection.
    pub async fn deregister(&self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        let name = registration.name;
        self.common.ask(|answer| Command::Deregister { name, answer }).await
    }

    /// Returns a token of this side that the peer has invalidated and whose registration is not deregistered, each
    /// token once; `None` if there is no other. Returns at once. A token is available before the message that
    /// invalidated it.
    #[must_use]
    pub fn invalidated(&self) -> Option<Token> {
        self.common.shared.lock().invalidated.pop_front().map(|(_, token)| token)
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3). Waits for the peer's next message and returns
    /// the time until it. A connection has one probe at a time.
    ///
    /// # Cancel safety
    /// If the future is dropped after the command was queued, the probe continues and its result is lost.
    ///
    /// # Errors
    /// [`Failure::Command`]: another probe is not finished. [`Failure::Probe`]: the peer sent nothing within the answer
    /// timeout, or the connection ended. Or the [end](Self#errors) of the connection.
    pub async fn probe(&self) -> Result<Duration, Failure<B::Error>> {
        self.common.ask(Command::Probe).await
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
    /// [`Failure::Drive`]: this side broke a contract. [`Failure::Backend`]: the backend failed. [`Failure::NoDriver`]:
    /// the driver was dropped.
    pub async fn close(&self, within: Duration) -> Result<CloseReason, Failure<B::Error>> {
        self.common.shared.wish(|state| _ = state.end.get_or_insert(End::Within(within)));
        self.ended().await
    }

    /// Waits until the connection is drained, and returns the reason of its end. It does not end the connection. This
    /// method is cancel safe.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    pub async fn ended(&self) -> Result<CloseReason, Failure<B::Error>> {
        self.common.ended().await
    }
}

impl<B: PollReady> Clone for Sender<B> {
    fn clone(&self) -> Self {
        Self { common: Arc::clone(&self.common), negotiated: self.negotiated }
    }
}

impl<B: PollReady> fmt::Debug for Sender<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("negotiated", &self.negotiated).finish_non_exhaustive()
    }
}
