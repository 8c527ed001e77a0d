//! A connection whose calls wait.

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

/// An RDMA operation that is over, and how it went.
pub type Done = (OpId, Result<(), OpError>);

/// An established connection. Dropped without [`close`](Self::close), it ends at once.
pub struct Connection<B: Blocking, C: Messages = Endpoint> {
    endpoint: C,
    backend: B,
    inbox: Inbox<B::Buffer>,
    /// Messages given to the endpoint since the beginning.
    queued: u64,
}

impl<B: Blocking> Connection<B> {
    /// Connects and negotiates.
    ///
    /// # Errors
    /// Why it did not come up.
    pub fn connect<To>(to: To, config: &Config) -> Result<Self, Failure<<B as Blocking>::Error>>
    where
        B: Connect<To, Error = <B as Blocking>::Error>,
    {
        let backend = B::connect(to, config).map_err(Failure::Backend)?;
        Self::establish(Role::Initiator, backend, config)
    }

    /// Accepts a request and negotiates.
    ///
    /// # Errors
    /// Why it did not come up.
    pub fn accept<Request>(request: Request, config: &Config) -> Result<Self, Failure<<B as Blocking>::Error>>
    where
        B: Accept<Request, Error = <B as Blocking>::Error>,
    {
        let backend = B::accept(request, config).map_err(Failure::Backend)?;
        Self::establish(Role::Acceptor, backend, config)
    }

    /// Negotiates over a backend.
    ///
    /// # Errors
    /// Why it did not come up.
    pub fn establish(role: Role, backend: B, config: &Config) -> Result<Self, Failure<B::Error>> {
        let endpoint = Endpoint::new(role, config, backend.now());
        Self::establish_with(endpoint, backend)
    }
}

impl<B: Blocking, C: Messages> Connection<B, C> {
    /// Negotiates over a backend, with a new endpoint that is watched, or what else works like one.
    ///
    /// # Errors
    /// Why it did not come up.
    pub fn establish_with(machine: C, backend: B) -> Result<Self, Failure<B::Error>> {
        let mut connection = Self { endpoint: machine, backend, inbox: Inbox::default(), queued: 0 };
        connection.wait_for(|this| this.inbox.established)?;
        Ok(connection)
    }

    /// What was settled on.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        self.endpoint().connection().negotiated()
    }

    /// The endpoint inside, to look at.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        self.endpoint.endpoint()
    }

    /// The backend.
    #[must_use]
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// The backend, to make buffers with.
    #[must_use]
    pub const fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// How the connection ended, if it has.
    #[must_use]
    pub const fn ended(&self) -> Option<CloseReason> {
        self.inbox.closed
    }

    /// Queues a message; waits only while there is no room.
    ///
    /// # Errors
    /// It cannot be sent, or the connection has ended.
    pub fn send(&mut self, message: Bytes) -> Result<MsgId, Failure<B::Error>> {
        self.send_with(message, None)
    }

    /// As [`send`](Self::send), and invalidates a token of the peer with it.
    ///
    /// # Errors
    /// As [`send`](Self::send).
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

    /// Waits until all messages are sent.
    ///
    /// # Errors
    /// The connection ended first.
    pub fn flush(&mut self) -> Result<(), Failure<B::Error>> {
        self.wait_for(|this| (this.inbox.sent >= this.queued).then_some(()))
    }

    /// The next message.
    ///
    /// # Errors
    /// None came in time, or the connection has ended and there are no more.
    pub fn recv(&mut self, within: Duration) -> Result<Bytes, Failure<B::Error>> {
        self.wait_within(within, |this| this.inbox.pop())
    }

    /// The next message, if it has arrived.
    ///
    /// # Errors
    /// The connection has ended and there are no more.
    pub fn try_recv(&mut self) -> Result<Option<Bytes>, Failure<B::Error>> {
        match self.recv(Duration::ZERO) {
            Ok(message) => Ok(Some(message)),
            Err(Failure::TimedOut) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Serves the connection without wanting anything of it: answers keepalives, takes in messages.
    ///
    /// # Errors
    /// The connection ended.
    pub fn idle(&mut self, time: Duration) -> Result<(), Failure<B::Error>> {
        match self.wait_within(time, |_| None::<()>) {
            Err(Failure::TimedOut) => Ok(()),
            other => other,
        }
    }

    /// Asks the peer for a keepalive response; returns how long it took.
    ///
    /// # Errors
    /// It gave none in time, or the connection ended.
    pub fn probe(&mut self, within: Duration) -> Result<Duration, Failure<B::Error>> {
        self.inbox.probed = None;
        let now = self.backend.now();
        self.endpoint.probe(now)?;
        Ok(self.wait_within(within, |this| this.inbox.probed.take())??)
    }

    /// Lets the peer reach a buffer.
    ///
    /// # Errors
    /// The provider refuses, or there is no room.
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

    /// Ends the peer's access. After this returns the buffer is its owner's alone.
    ///
    /// # Errors
    /// The provider fails, or the connection ended first (which ends the access, too).
    pub fn deregister(&mut self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        let id = registration.id;
        self.endpoint.deregister(self.backend.now(), id)?;
        let (_, result) = self.wait_for(|this| this.inbox.deregistered.take_if(|(done, _)| *done == id))?;
        result?;
        self.inbox.registrations.remove(&id);
        Ok(())
    }

    /// A token of this side that the peer has invalidated; each is told once.
    pub fn invalidated(&mut self) -> Option<Token> {
        self.inbox.invalidated.pop_front()
    }

    /// Begins an RDMA operation of `len` bytes between `buffer`, from its beginning, and the peer's memory from `offset`
    /// on; waits only while there is no room.
    ///
    /// # Errors
    /// The operation is not possible, or the connection has ended.
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

    /// RDMA operations that are not finished.
    #[must_use]
    pub fn rdma_in_flight(&self) -> usize {
        self.inbox.operations.len()
    }

    /// Waits for any RDMA operation to finish.
    ///
    /// # Errors
    /// None is under way and the time is over, or the connection ended.
    pub fn next_rdma(&mut self, within: Duration) -> Result<Done, Failure<B::Error>> {
        self.wait_within(within, |this| this.inbox.finished.pop_front())
    }

    /// An RDMA operation from beginning to end.
    ///
    /// # Errors
    /// The operation is not possible or failed, or the connection ended.
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

    /// Waits for an RDMA operation to finish.
    ///
    /// # Errors
    /// It failed, or the connection ended.
    pub fn finish_rdma(&mut self, op: OpId) -> Result<(), Failure<B::Error>> {
        let result = self.wait_for(|this| {
            let place = this.inbox.finished.iter().position(|(done, _)| *done == op)?;
            this.inbox.finished.remove(place)
        })?;
        Ok(result.1?)
    }

    /// Sends what is queued, for at most `within`, ends the connection and waits until everything is back.
    ///
    /// # Errors
    /// This side broke a contract, or the system fails.
    pub fn close(mut self, within: Duration) -> Result<CloseReason, Failure<B::Error>> {
        let now = self.backend.now();
        self.endpoint.close(now, Close::Flush { until: now.saturating_add(within) });
        self.drain()
    }

    /// Waits for the connection to end by itself, and until everything is back.
    ///
    /// # Errors
    /// This side broke a contract, or the system fails.
    pub fn drain(mut self) -> Result<CloseReason, Failure<B::Error>> {
        while !self.endpoint.is_drained() {
            self.turn(None)?;
        }
        Ok(self.inbox.closed.unwrap_or(CloseReason::Lost { reason: DisconnectReason::Unknown }))
    }

    /// Drives the connection until `done` has something or the connection has ended. `done` commands nothing unless it has.
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
