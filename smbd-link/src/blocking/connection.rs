//! A connection with blocking calls.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::{Blocking, INBOX_MAX};
use crate::link::{Event, Link, Options, Turn};
use crate::{Accept, Connect, Failure, Messages};
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CloseReason, CommandError, SendError};
use smbd_core::{Config, Endpoint, Instant, MsgId, Negotiated, Role, Token};

/// An established connection over a backend `B`. Its calls block the thread. The connection makes progress only inside
/// them, so a program that does nothing else calls [`idle`](Self::idle).
///
/// Dropping it without [`close`](Self::close) ends the connection at once. Queued messages are lost then.
pub struct Connection<B: Blocking, C: Messages = Endpoint> {
    /// Keeps messages and events until a call asks for them.
    pub(super) link: Link<B, u64, C, B::Error>,
    /// The next name of an operation or a registration.
    next_name: u64,
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
        Self::establish_keeping(INBOX_MAX, machine, backend)
    }

    /// The same, with at most so many bytes of messages for later calls.
    pub(super) fn establish_keeping(bytes: usize, machine: C, backend: B) -> Result<Self, Failure<B::Error>> {
        // The first byte that is too much pauses the endpoint.
        let bytes_max = bytes.saturating_add(1);
        let options = Options { messages_max: usize::MAX, bytes_max, ..Options::default() };
        let mut connection = Self { link: Link::of_turns(machine, backend, options), next_name: 0 };
        connection.wait_for_event(None, |event| matches!(event, Event::Established(_)).then_some(()))?;
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
        self.link.machine().endpoint()
    }

    /// The backend of this connection.
    #[must_use]
    pub const fn backend(&self) -> &B {
        self.link.backend()
    }

    /// The backend of this connection, for example to allocate buffers.
    #[must_use]
    pub const fn backend_mut(&mut self) -> &mut B {
        self.link.backend_mut()
    }

    /// The reason why the connection ended; `None` while it is established.
    #[must_use]
    pub fn ended(&self) -> Option<CloseReason> {
        self.link.closed()?.as_ref().ok().copied()
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
        self.wait(None, |this| {
            let now = this.backend().now();
            match this.link.try_send(now, message.take()?, token, true) {
                Ok(id) => Some(Ok(id)),
                Err(NotSent { error: SendError::Command(CommandError::NoRoom { .. }), payload }) => {
                    message = Some(payload);
                    None
                }
                Err(refused) => Some(Err(refused.error.into())),
            }
        })?
    }

    /// Waits until all queued messages are sent. It does not wait for the peer to receive them.
    ///
    /// # Errors
    /// [`Failure::Closed`]: the connection ended first, and messages are lost.
    /// [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a contract.
    pub fn flush(&mut self) -> Result<(), Failure<B::Error>> {
        self.wait(None, |this| {
            let (queued, sent) = this.link.messages();
            (sent >= queued).then_some(())
        })
    }

    /// Returns the next message. Waits for it for at most `within`.
    ///
    /// # Errors
    /// [`Failure::TimedOut`]: no message arrived within `within`. [`Failure::Closed`]: the connection has ended, and
    /// all messages that arrived were returned. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side
    /// broke a contract.
    pub fn recv(&mut self, within: Duration) -> Result<Bytes, Failure<B::Error>> {
        self.wait(Some(within), |this| this.link.try_recv().map(|piece| piece.bytes.freeze()))
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
        match self.wait(Some(time), |_| None::<()>) {
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
        let probed = |event: &Event<u64, B::Error>| {
            let Event::Probed(result) = event else { return None };
            Some(*result)
        };
        // That of a call that has timed out.
        self.link.take_event(probed);
        self.link.probe()?;
        Ok(self.wait_for_event(Some(within), probed)??)
    }

    /// Finishes queued messages and RDMA operations for at most `within`, and then ends the connection. Waits until it
    /// is drained. Returns the reason of its end, which is not [`CloseReason::Local`] if it ended in another way first.
    ///
    /// # Errors
    /// [`Failure::Drive`]: this side broke a contract. [`Failure::Backend`]: the backend fails.
    pub fn close(mut self, within: Duration) -> Result<CloseReason, Failure<B::Error>> {
        self.link.close(within);
        self.drain()
    }

    /// Waits without limit until the connection has ended and is drained. It does not end the connection. Returns the
    /// reason of its end.
    ///
    /// # Errors
    /// [`Failure::Drive`]: this side broke a contract. [`Failure::Backend`]: the backend fails.
    pub fn drain(mut self) -> Result<CloseReason, Failure<B::Error>> {
        // Nobody can ask for them any more.
        self.link.ignore_messages();
        loop {
            let turn = self.link.turn();
            if let Some(ending) = self.link.over() {
                return ending.clone();
            }
            self.sleep(turn, None)?;
        }
    }

    /// Drives the connection until `done` returns `Some` or the connection has ended, for at most `within`. `done` changes
    /// nothing when it returns `None`.
    pub(super) fn wait<T>(
        &mut self,
        within: Option<Duration>,
        mut done: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Failure<B::Error>> {
        let until = within.map(|within| self.backend().now().saturating_add(within));
        loop {
            let turn = self.turn();
            if let Some(Err(failure)) = self.link.closed() {
                return Err(failure.clone());
            }
            // Asked after every turn: what it has brought may not come again.
            if let Some(found) = done(self) {
                return Ok(found);
            }
            if let Some(reason) = self.ended() {
                return Err(Failure::Closed(reason));
            }
            if until.is_some_and(|until| until <= self.backend().now()) {
                return Err(Failure::TimedOut);
            }
            self.sleep(turn, until)?;
        }
    }

    /// The same, until `wanted` finds something in an event, which is taken then.
    pub(super) fn wait_for_event<T>(
        &mut self,
        within: Option<Duration>,
        mut wanted: impl FnMut(&Event<u64, B::Error>) -> Option<T>,
    ) -> Result<T, Failure<B::Error>> {
        self.wait(within, |this| this.link.take_event(&mut wanted))
    }

    /// Drives the connection, and ends it if too much waits for [`recv`](Self::recv).
    fn turn(&mut self) -> Turn {
        let turn = self.link.turn();
        if self.endpoint().is_paused() && self.link.is_open() {
            self.link.abort();
            return Turn::Again;
        }
        turn
    }

    /// Waits for the backend after a turn, if that has left nothing to do.
    fn sleep(&mut self, turn: Turn, until: Option<Instant>) -> Result<(), Failure<B::Error>> {
        let Turn::Asleep(deadline) = turn else { return Ok(()) };
        self.backend_mut().wait(deadline.into_iter().chain(until).min()).map_err(Failure::Backend)
    }

    /// A name for an operation or a registration.
    pub(super) const fn name(&mut self) -> u64 {
        let name = self.next_name;
        self.next_name = name.wrapping_add(1);
        name
    }
}

impl<B: Blocking, C: Messages> fmt::Debug for Connection<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.link).finish()
    }
}
