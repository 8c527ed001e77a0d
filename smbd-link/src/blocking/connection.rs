//! A connection with blocking calls.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::Blocking;
use super::inbox::Inbox;
use crate::{Accept, Connect, Failure, Messages};
use smbd_core::backend::drive;
use smbd_core::error::{CloseReason, CommandError, DisconnectReason, OpError, SendError};
use smbd_core::{Close, Config, Endpoint, Instant, MsgId, Negotiated, OpId, Role, Token};

/// A finished RDMA operation: its id and its result.
pub type Done = (OpId, Result<(), OpError>);

/// An established connection over a backend `B`. Its calls block the thread. The connection makes progress only inside
/// them, so a program that does nothing else calls [`idle`](Self::idle).
///
/// Dropping it without [`close`](Self::close) ends the connection at once. Queued messages are lost then.
pub struct Connection<B: Blocking, C: Messages = Endpoint> {
    pub(super) endpoint: C,
    pub(super) backend: B,
    pub(super) inbox: Inbox<B::Buffer>,
    /// Messages given to the endpoint since the beginning.
    queued: u64,
}

impl<B: Blocking> Connection<B> {
    /// Connects to `to` as an initiator and negotiates (3.1.4.1). Waits until the connection is established or has
    /// failed.
    ///
    /// # Errors
    /// [`Failure::Backend`]: the backend cannot be made, or fails. [`Failure::Connect`]: the connection was not
    /// established. [`Failure::Drive`]: this side broke a contract.
    pub fn connect<To>(to: To, config: &Config) -> Result<Self, Failure<<B as Blocking>::Error>>
    where
        B: Connect<To, Error = <B as Blocking>::Error>,
    {
        let backend = B::connect(to, config).map_err(Failure::Backend)?;
        Self::establish(Role::Initiator, backend, config)
    }

    /// Accepts a connection request and negotiates as an acceptor. Waits until the connection is established or has
    /// failed.
    ///
    /// # Errors
    /// [`Failure::Backend`]: the request cannot be accepted, or the backend fails. [`Failure::Connect`]: the connection
    /// was not established. [`Failure::Drive`]: this side broke a contract.
    pub fn accept<Request>(request: Request, config: &Config) -> Result<Self, Failure<<B as Blocking>::Error>>
    where
        B: Accept<Request, Error = <B as Blocking>::Error>,
    {
        let backend = B::accept(request, config).map_err(Failure::Backend)?;
        Self::establish(Role::Acceptor, backend, config)
    }

    /// Connects and negotiates over a new backend. Waits until the connection is established or has failed.
    ///
    /// # Errors
    /// [`Failure::Connect`]: the connection was not established. [`Failure::Backend`]: the backend fails.
    /// [`Failure::Drive`]: this side broke a contract.
    pub fn establish(role: Role, backend: B, config: &Config) -> Result<Self, Failure<B::Error>> {
        let endpoint = Endpoint::new(role, config, backend.now());
        Self::establish_with(endpoint, backend)
    }
}

impl<B: Blocking, C: Messages> Connection<B, C> {
    /// Connects and negotiates over a new backend, with a new machine: an [`Endpoint`], or a wrapper of one. Waits
    /// until the connection is established or has failed.
    ///
    /// # Errors
    /// [`Failure::Connect`]: the connection was not established. [`Failure::Backend`]: the backend fails.
    /// [`Failure::Drive`]: this side broke a contract.
    pub fn establish_with(machine: C, backend: B) -> Result<Self, Failure<B::Error>> {
        let mut connection = Self { endpoint: machine, backend, inbox: Inbox::default(), queued: 0 };
        connection.wait_for(|this| this.inbox.established)?;
        Ok(connection)
    }

    /// The negotiated values.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        self.endpoint().connection().negotiated()
    }

    /// The endpoint of this connection.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        self.endpoint.endpoint()
    }

    /// The backend of this connection.
    #[must_use]
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend of this connection, for example to allocate buffers.
    #[must_use]
    pub const fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// The reason why the connection ended; `None` while it is established.
    #[must_use]
    pub const fn ended(&self) -> Option<CloseReason> {
        self.inbox.closed
    }

    /// Queues a message of 1 to `max_fragmented_send_size` bytes ([`negotiated`](Self::negotiated), 3.1.4.2) and
    /// returns its id. Waits only while all [`message_slots`](smbd_core::Params::message_slots) are taken.
    /// [`flush`](Self::flush) waits until the message is sent.
    ///
    /// # Errors
    /// [`Failure::Send`]: the message is empty or too long, or the connection is closing or has ended.
    /// [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a contract.
    pub fn send(&mut self, message: Bytes) -> Result<MsgId, Failure<B::Error>> {
        self.send_with(message, None)
    }

    /// Queues a message like [`send`](Self::send). Its last fragment invalidates the peer's token `token`, if the
    /// transport can do that ([`Limits::send_with_invalidate`](smbd_core::Limits)).
    ///
    /// # Errors
    /// The errors of [`send`](Self::send).
    pub fn send_invalidating(&mut self, message: Bytes, token: Token) -> Result<MsgId, Failure<B::Error>> {
        self.send_with(message, Some(token))
    }

    fn send_with(&mut self, message: Bytes, token: Option<Token>) -> Result<MsgId, Failure<B::Error>> {
        let mut message = Some(message);
        self.wait_for(|this| {
            let now = this.backend.now();
            match this.endpoint.send(now, message.take()?, token) {
                Ok(id) => {
                    this.queued = this.queued.saturating_add(1);
                    Some(Ok(id))
                }
                Err(not_sent) => {
                    if let SendError::Command(CommandError::NoRoom { .. }) = not_sent.error {
                        message = Some(not_sent.payload);
                        return None;
                    }
                    Some(Err(not_sent.error.into()))
                }
            }
        })?
    }

    /// Waits until all queued messages are sent. It does not wait for the peer to receive them.
    ///
    /// # Errors
    /// [`Failure::Closed`]: the connection ended first, and messages are lost.
    /// [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a contract.
    pub fn flush(&mut self) -> Result<(), Failure<B::Error>> {
        self.wait_for(|this| (this.inbox.sent >= this.queued).then_some(()))
    }

    /// Returns the next message. Waits for it for at most `within`.
    ///
    /// # Errors
    /// [`Failure::TimedOut`]: no message arrived within `within`. [`Failure::Closed`]: the connection has ended, and
    /// all messages that arrived were returned. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side
    /// broke a contract.
    pub fn recv(&mut self, within: Duration) -> Result<Bytes, Failure<B::Error>> {
        self.wait_within(within, |this| this.inbox.pop())
    }

    /// Returns the next message, or `None` if none has arrived. Drives the connection once and does not wait.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv), except [`Failure::TimedOut`].
    pub fn try_recv(&mut self) -> Result<Option<Bytes>, Failure<B::Error>> {
        match self.recv(Duration::ZERO) {
            Ok(message) => Ok(Some(message)),
            Err(Failure::TimedOut) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Drives the connection for `time`. It answers keepalives and keeps messages for [`recv`](Self::recv). Returns
    /// earlier only with an error.
    ///
    /// # Errors
    /// [`Failure::Closed`]: the connection has ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this
    /// side broke a contract.
    pub fn idle(&mut self, time: Duration) -> Result<(), Failure<B::Error>> {
        match self.wait_within(time, |_| None::<()>) {
            Err(Failure::TimedOut) => Ok(()),
            other => other,
        }
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3) and returns the time until the peer's next
    /// message. Waits for that for at most `within`.
    ///
    /// # Errors
    /// [`Failure::Command`]: another probe is not finished, or the connection is closing. [`Failure::TimedOut`]: the
    /// peer sent nothing within `within`. [`Failure::Probe`]: it sent nothing within the answer timeout, or the
    /// connection ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a contract.
    pub fn probe(&mut self, within: Duration) -> Result<Duration, Failure<B::Error>> {
        self.inbox.probed = None;
        let now = self.backend.now();
        self.endpoint.probe(now)?;
        Ok(self.wait_within(within, |this| this.inbox.probed.take())??)
    }

    /// Finishes queued messages and RDMA operations for at most `within`, and then ends the connection. Waits until it
    /// is drained. Returns the reason of its end, which is not [`CloseReason::Local`] if it ended in another way first.
    ///
    /// # Errors
    /// [`Failure::Drive`]: this side broke a contract. [`Failure::Backend`]: the backend fails.
    pub fn close(mut self, within: Duration) -> Result<CloseReason, Failure<B::Error>> {
        let now = self.backend.now();
        self.endpoint.close(now, Close::Flush { until: now.saturating_add(within) });
        self.drain()
    }

    /// Waits without limit until the connection has ended and is drained. It does not end the connection. Returns the
    /// reason of its end.
    ///
    /// # Errors
    /// [`Failure::Drive`]: this side broke a contract. [`Failure::Backend`]: the backend fails.
    pub fn drain(mut self) -> Result<CloseReason, Failure<B::Error>> {
        while !self.endpoint.is_drained() {
            self.turn(None)?;
        }
        Ok(self.inbox.closed.unwrap_or(CloseReason::Lost { reason: DisconnectReason::Unknown }))
    }

    /// Drives the connection until `done` returns `Some` or the connection has ended. `done` changes nothing when it
    /// returns `None`.
    pub(super) fn wait_for<T>(
        &mut self,
        done: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Failure<B::Error>> {
        self.wait_until(None, done)
    }

    pub(super) fn wait_within<T>(
        &mut self,
        within: Duration,
        done: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Failure<B::Error>> {
        let until = self.backend.now().saturating_add(within);
        self.wait_until(Some(until), done)
    }

    fn wait_until<T>(
        &mut self,
        until: Option<Instant>,
        mut done: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Failure<B::Error>> {
        loop {
            let deadline = drive(&mut self.endpoint, &mut self.backend, &mut self.inbox)?;
            // Asked after every drive: what it has brought may not come again.
            if let Some(found) = done(self) {
                return Ok(found);
            }
            if let Some(error) = self.inbox.failed {
                return Err(error.into());
            }
            if let Some(reason) = self.inbox.closed {
                return Err(Failure::Closed(reason));
            }
            if until.is_some_and(|until| until <= self.backend.now()) {
                return Err(Failure::TimedOut);
            }
            self.backend.wait(deadline.into_iter().chain(until).min()).map_err(Failure::Backend)?;
        }
    }

    fn turn(&mut self, until: Option<Instant>) -> Result<(), Failure<B::Error>> {
        let deadline = drive(&mut self.endpoint, &mut self.backend, &mut self.inbox)?;
        if !self.endpoint.is_drained() {
            self.backend.wait(deadline.into_iter().chain(until).min()).map_err(Failure::Backend)?;
        }
        Ok(())
    }
}

impl<B: Blocking, C: Messages> fmt::Debug for Connection<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("phase", &self.endpoint().connection().phase())
            .field("unsent", &self.queued.saturating_sub(self.inbox.sent))
            .field("messages", &self.inbox.messages.len())
            .finish_non_exhaustive()
    }
}
