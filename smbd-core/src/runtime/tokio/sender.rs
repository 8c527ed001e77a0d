use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use ::tokio::sync::{mpsc, oneshot};
use bytes::Bytes;

use super::PollReady;
use super::command::{Answer, Command, Transfer};
use super::handle::{FailureOf, Handle};
use crate::error::{CloseReason, SendError};
use crate::runtime::Registration;
use crate::{Access, BufferDescriptorV1, Negotiated, RdmaVerb, Token};

pub(super) type CommandOf<B> = Command<<B as crate::backend::Backend>::Buffer, <B as PollReady>::Error>;

/// The half of a connection that asks for something. Clones are the same connection, which ends at once when the last of them
/// and its [`Receiver`](super::Receiver) are dropped.
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

    /// What was settled on.
    #[must_use]
    pub const fn negotiated(&self) -> Negotiated {
        self.negotiated
    }

    /// Queues a message of 1 to `max_fragmented_send_size` bytes ([`negotiated`](Self::negotiated)) behind all that was asked
    /// for before; waits only for room. It is sent as credits come in ([`flush`](Self::flush) waits for that), and lost if the
    /// connection ends before.
    ///
    /// Room are [`Params::message_slots`](crate::Params::message_slots) messages, and [`COMMANDS`](super::COMMANDS) commands of
    /// any kind before them. It comes with the peer's credits: two sides that only send, and neither receives, hold each other
    /// up until one of them ends the connection (3.1.5.1).
    ///
    /// Given up, the message was not queued.
    ///
    /// # Errors
    /// The message can never be sent (3.1.4.2), or the connection has ended.
    pub async fn send(&self, message: Bytes) -> Result<(), FailureOf<B>> {
        self.queue(message, None).await
    }

    /// As [`send`](Self::send), and invalidates a token of the peer with it.
    ///
    /// # Errors
    /// As [`send`](Self::send).
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

    /// Waits until all messages are sent that were queued before. That the peer has them is another matter: only an answer
    /// says so.
    ///
    /// Given up, nothing changes.
    ///
    /// # Errors
    /// The connection ended first.
    pub async fn flush(&self) -> Result<(), FailureOf<B>> {
        self.ask(Command::Flush).await
    }

    /// Reads `len` bytes of the peer's memory, from `offset` on in what `remote` describes, into `buffer` from its beginning.
    ///
    /// Given up, the operation goes on if it had begun, and the buffer stays with the device until it is done: nobody may rely
    /// on its bytes meanwhile.
    ///
    /// # Errors
    /// The operation is not possible or failed, or the connection ended.
    pub async fn rdma_read(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        let (buffer, remote) = (buffer.clone(), Arc::clone(remote));
        self.rdma(Transfer { verb: RdmaVerb::Read, buffer, remote, offset, len }).await
    }

    /// Writes the first `len` bytes of `buffer` to the peer's memory, from `offset` on in what `remote` describes. A message
    /// that is queued after it arrives after it.
    ///
    /// Given up, the operation goes on if it had begun, and the buffer stays with the device until it is done: its bytes should
    /// not change meanwhile.
    ///
    /// # Errors
    /// The operation is not possible or failed, or the connection ended.
    pub async fn rdma_write(
        &self,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), FailureOf<B>> {
        let (buffer, remote) = (buffer.clone(), Arc::clone(remote));
        self.rdma(Transfer { verb: RdmaVerb::Write, buffer, remote, offset, len }).await
    }

    async fn rdma(&self, transfer: Transfer<B::Buffer>) -> Result<(), FailureOf<B>> {
        self.ask(|answer| Command::Rdma { transfer, answer }).await
    }

    /// Lets the peer reach all of a buffer.
    ///
    /// Given up, the buffer is deregistered again if it had been registered.
    ///
    /// # Errors
    /// The provider refuses, or there is no room.
    pub async fn register(&self, buffer: &B::Buffer, access: Access) -> Result<Registration, FailureOf<B>> {
        let buffer = buffer.clone();
        let offer = self.ask(|answer| Command::Register { buffer, access, answer }).await?;
        Ok(offer.claim())
    }

    /// Ends the peer's access. After this returns the buffer is its owner's alone.
    ///
    /// Given up, the access ends nevertheless if that had begun; nothing says when.
    ///
    /// # Errors
    /// The provider fails, or the connection ended first (which ends the access, too).
    pub async fn deregister(&self, registration: &Registration) -> Result<(), FailureOf<B>> {
        let id = registration.id;
        self.ask(|answer| Command::Deregister { id, answer }).await
    }

    /// A token of this side that the peer has invalidated and whose registration is not deregistered; each is told once. It is
    /// there before the message that came with it.
    #[must_use]
    pub fn invalidated(&self) -> Option<Token> {
        self.handle.shared().take_invalidated()
    }

    /// Asks the peer for a keepalive response; returns how long it took. One at a time.
    ///
    /// # Errors
    /// It gave none in time, another probe is under way, or the connection ended.
    pub async fn probe(&self) -> Result<Duration, FailureOf<B>> {
        self.ask(Command::Probe).await
    }

    /// Sends what is queued, for at most `within`, ends the connection and waits until everything posted is back. Tells why the
    /// connection ended, if it had before. Nothing more can be asked for from the first poll on.
    ///
    /// Given up, the connection goes on closing.
    ///
    /// # Errors
    /// This side broke a contract, the system failed, or the driver was dropped.
    pub async fn close(&self, within: Duration) -> Result<CloseReason, FailureOf<B>> {
        self.handle.shared().wish(|wishes| {
            wishes.close.get_or_insert(within);
        });
        self.ended().await
    }

    /// Waits until the connection is over and everything posted is back.
    ///
    /// # Errors
    /// As [`close`](Self::close).
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
