//! A connection with blocking calls.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use bytes::Bytes;

use super::Blocking;
use super::inbox::Inbox;
use crate::backend::drive;
use crate::error::{CloseReason, CommandError, DisconnectReason, OpError, RdmaError, SendError};
use crate::runtime::{Accept, Connect, Failure, Messages, Registration};
use crate::{
    Access, BufferDescriptorV1, Close, Config, Endpoint, Instant, MsgId, Negotiated, OpId, RdmaVerb, Role,
    Token,
};

/// Segments that a registration may have: one buffer is one region or one window.
const SEGMENTS: u16 = 1;

/// A finished RDMA operation: its id and its result.
pub type Done = (OpId, Result<(), OpError>);

/// An established connection over a backend `B`. Its calls block the thread. The connection makes progress only inside
/// them, so a program that does nothing else calls [`idle`](Self::idle).
///
/// Dropping it without [`close`](Self::close) ends the connection at once. Queued messages are lost then.
pub struct Connection<B: Blocking, C: Messages = Endpoint> {
    endpoint: C,
    backend: B,
    inbox: Inbox<B::Buffer>,
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
    /// returns its id. Waits only while all [`message_slots`](crate::Params::message_slots) are taken.
    /// [`flush`](Self::flush) waits until the message is sent.
    ///
    /// # Errors
    /// [`Failure::Send`]: the message is empty or too long, or the connection is closing or has ended.
    /// [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a contract.
    pub fn send(&mut self, message: Bytes) -> Result<MsgId, Failure<B::Error>> {
        self.send_with(message, None)
    }

    /// Queues a message like [`send`](Self::send). Its last fragment invalidates the peer's token `token`, if the
    /// transport can do that ([`Limits::send_with_invalidate`](crate::Limits)).
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
                Err(not_sent) => match not_sent.error {
                    SendError::Command(CommandError::NoRoom { .. }) => {
                        message = Some(not_sent.payload);
                        None
                    }
                    error @ (SendError::Command(_) | SendError::Empty | SendError::TooLong { .. }) => {
                        Some(Err(error.into()))
                    }
                },
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

    /// Gives the peer access to all of `buffer`, with exactly these rights, on this connection only (3.1.4.3). Waits
    /// for the device, and returns the registration with its descriptors.
    ///
    /// # Errors
    /// [`Failure::Register`]: no registration is free, or the connection is closing. [`Failure::Registration`]: the
    /// provider refused, or the connection ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this
    /// side broke a contract.
    pub fn register(
        &mut self,
        buffer: &B::Buffer,
        access: Access,
    ) -> Result<Registration, Failure<B::Error>> {
        let id = self.endpoint.register(self.backend.now(), access, SEGMENTS)?;
        self.inbox.registrations.insert(id, buffer.clone());
        let (_, result) = self.wait_for(|this| this.inbox.registered.take_if(|(done, _)| *done == id))?;
        if let Err(error) = result {
            self.inbox.registrations.remove(&id);
            return Err(error.into());
        }
        let descriptors = self.endpoint().connection().live_segments(id).collect();
        Ok(Registration { id, descriptors })
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device. After `Ok` the peer cannot access
    /// the buffer any more.
    ///
    /// # Errors
    /// [`Failure::Register`]: the registration is not valid, or the connection is closing. [`Failure::Registration`]:
    /// the provider refused, or the connection ended, which ends the access too. [`Failure::Backend`]: the backend
    /// fails. [`Failure::Drive`]: this side broke a contract.
    pub fn deregister(&mut self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        let id = registration.id;
        self.endpoint.deregister(self.backend.now(), id)?;
        let (_, result) = self.wait_for(|this| this.inbox.deregistered.take_if(|(done, _)| *done == id))?;
        result?;
        self.inbox.registrations.remove(&id);
        Ok(())
    }

    /// Returns a token of this side that the peer has invalidated, each token once; `None` if there is no other.
    /// Returns at once and does not drive the connection.
    pub fn invalidated(&mut self) -> Option<Token> {
        self.inbox.invalidated.pop_front()
    }

    /// Starts an RDMA operation and returns its id. It transfers `len` bytes between the beginning of `buffer` and the
    /// peer's buffer that `remote` describes, from byte `offset` of that buffer on: [`RdmaVerb::Write`] to the peer
    /// (3.1.4.5), [`RdmaVerb::Read`] from it (3.1.4.6). Waits only while all operations of the configuration are under
    /// way. [`next_rdma`](Self::next_rdma) and [`finish_rdma`](Self::finish_rdma) return the result.
    ///
    /// # Errors
    /// [`Failure::Rdma`]: the range is too long or not inside the descriptors, the connection allows no RDMA Read, or
    /// it is closing or has ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a
    /// contract.
    pub fn start_rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<OpId, Failure<B::Error>> {
        self.wait_for(|this| {
            let now = this.backend.now();
            match this.endpoint.rdma(now, verb, len, Arc::clone(remote), offset) {
                Ok(op) => {
                    this.inbox.operations.insert(op, buffer.clone());
                    Some(Ok(op))
                }
                Err(RdmaError::Command(CommandError::NoRoom { .. })) => None,
                Err(error) => Some(Err(error.into())),
            }
        })?
    }

    /// The number of RDMA operations that are not finished.
    #[must_use]
    pub fn rdma_in_flight(&self) -> usize {
        self.inbox.operations.len()
    }

    /// Returns the next finished RDMA operation. Waits for it for at most `within`, also if no operation is under way.
    ///
    /// # Errors
    /// [`Failure::TimedOut`]: no operation finished within `within`. [`Failure::Closed`]: the connection has ended, and
    /// all results were returned. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a
    /// contract.
    pub fn next_rdma(&mut self, within: Duration) -> Result<Done, Failure<B::Error>> {
        self.wait_within(within, |this| this.inbox.finished.pop_front())
    }

    /// Carries out an RDMA operation: [`start_rdma`](Self::start_rdma) and then [`finish_rdma`](Self::finish_rdma).
    ///
    /// # Errors
    /// The errors of both.
    pub fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        let op = self.start_rdma(verb, buffer, remote, offset, len)?;
        self.finish_rdma(op)
    }

    /// Waits until the RDMA operation `op` is finished. If the result of `op` was returned before, it waits until the
    /// connection ends.
    ///
    /// # Errors
    /// [`Failure::Operation`]: the operation failed, or the connection ended first. [`Failure::Closed`]: the connection
    /// has ended, and the result of `op` was returned before. [`Failure::Backend`]: the backend fails.
    /// [`Failure::Drive`]: this side broke a contract.
    pub fn finish_rdma(&mut self, op: OpId) -> Result<(), Failure<B::Error>> {
        let result = self.wait_for(|this| {
            let place = this.inbox.finished.iter().position(|(done, _)| *done == op)?;
            this.inbox.finished.remove(place)
        })?;
        Ok(result.1?)
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
    fn wait_for<T>(&mut self, done: impl FnMut(&mut Self) -> Option<T>) -> Result<T, Failure<B::Error>> {
        self.wait_until(None, done)
    }

    fn wait_within<T>(
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
