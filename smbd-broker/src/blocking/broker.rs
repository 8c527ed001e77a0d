//! The socket of an owner that waits in calls.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_smb2::wire::Guid;

use super::connection::Connection;
use crate::client::replies::{self, Answer};
use crate::client::{CallError, Slots};
use crate::owner::{Calls, News};
use crate::socket::{Deadline, PacketBuffer, PacketSocket, Packets, Wanted};
use crate::wire::{Area, Call, Newcomer, Packet, Parameters, VERSION, Welcome};

/// Connections that have come while a call waited for its answer. What is more is closed: its client is refused.
const INCOMING: usize = 64;
/// Slots at first. There are twice as many each time they are too few.
const SLOTS_MIN: u16 = 8;
/// How long a call waits for its answer, if nothing else was said.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A broker, as an owner asks it. The owner leaves when it is dropped; its connections go on until they are dropped.
pub struct Broker {
    socket: Packets,
    calls: Calls,
    welcome: Welcome,
    slots: Slots,
    incoming: VecDeque<Connection>,
    packet: PacketBuffer,
    timeout: Option<Duration>,
    is_gone: bool,
}

impl Broker {
    /// Becomes an owner, with this name for the log of the broker.
    ///
    /// # Errors
    /// There is no broker at `path`, or it refuses.
    pub fn connect(path: &Path, name: &str) -> Result<Self, CallError> {
        let mut calls = Calls::new();
        let (_, hello) = calls.call(Call::Hello { version: VERSION, name: name.to_owned() });
        let mut socket = Packets::connect(path)?;
        let mut packet = PacketBuffer::new();
        let deadline = Deadline::after(Some(TIMEOUT));
        send(&mut socket, &hello, None, deadline)?;
        receive(&mut socket, &mut packet, deadline)?.ok_or_else(late)?;
        let welcome = replies::welcome(&mut calls, packet.bytes())?;
        let slots = Slots::new(&welcome.limits);
        let (incoming, timeout) = (VecDeque::new(), Some(TIMEOUT));
        let mut broker = Self { socket, calls, welcome, slots, incoming, packet, timeout, is_gone: false };
        broker.grow(SLOTS_MIN)?;
        Ok(broker)
    }

    /// How long calls wait for their answers; for ever with `None`. 30 seconds if nothing is said.
    pub const fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Who the broker is.
    #[must_use]
    pub const fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// The slots of this owner.
    #[must_use]
    pub const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Takes connections that no rule matches, or does not any more.
    ///
    /// # Errors
    /// Another owner does, or the broker is gone.
    pub fn listen(&mut self, is_on: bool) -> Result<(), CallError> {
        self.done(Call::Listen { is_on })
    }

    /// How connections are configured that come from now on. Only for the default acceptor.
    ///
    /// # Errors
    /// The broker refuses, or is gone.
    pub fn set_parameters(&mut self, parameters: Parameters) -> Result<(), CallError> {
        self.done(Call::SetParameters(Box::new(parameters)))
    }

    /// Takes connections that bind this session, or does not any more.
    ///
    /// # Errors
    /// Another owner holds it, or the broker is gone.
    pub fn set_session_id(&mut self, session_id: u64, is_held: bool) -> Result<(), CallError> {
        self.done(Call::SetSessionId { session_id, is_held })
    }

    /// Takes connections of this client, or does not any more.
    ///
    /// # Errors
    /// Another owner holds it, or the broker is gone.
    pub fn set_client_guid(&mut self, client_guid: Guid, is_held: bool) -> Result<(), CallError> {
        self.done(Call::SetClientGuid { client_guid, is_held })
    }

    /// The next connection; `None` after `timeout`, which never comes if it is `None`.
    ///
    /// # Errors
    /// The broker is gone.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Connection>, CallError> {
        let deadline = Deadline::after(timeout);
        loop {
            if let Some(connection) = self.incoming.pop_front() {
                return Ok(Some(connection));
            }
            let Some(descriptors) = self.receive(deadline)? else { return Ok(None) };
            self.received(descriptors, None)?;
        }
    }

    /// Takes over a connection whose socket another owner has [given away](Connection::give_away), with what its [`Newcomer`] said. What
    /// the former owner has not read comes first; it is there when this returns.
    ///
    /// # Errors
    /// It is not the socket of a connection, the connection has ended, or the broker is gone.
    pub fn attach(&mut self, socket: OwnedFd, newcomer: Newcomer) -> Result<Connection, CallError> {
        let former = socket.try_clone()?;
        let socket = replies::attached(self.ask(Call::Attach, Some(socket)))?;
        // The broker closes its end, so all of it comes soon.
        let (deadline, waited) = (Deadline::after(self.timeout), former.try_clone()?);
        let mut connection = self.connection(newcomer, socket)?.behind(Packets::new(former)?);
        while connection.poll_former(&mut Context::from_waker(Waker::noop())).is_pending() {
            if !deadline.wait(waited.as_fd(), Wanted::Readable)? {
                return Err(late().into());
            }
        }
        Ok(connection)
    }

    /// Takes slots for `len` bytes, and asks for more memory if they are too few; `None` if there are not enough even so.
    ///
    /// # Errors
    /// The broker is gone.
    pub fn take(&mut self, len: u64) -> Result<Option<Vec<Area>>, CallError> {
        loop {
            let (total, _) = self.slots.count();
            if let Some(areas) = self.slots.take(len) {
                return Ok(Some(areas));
            }
            let mut more = total;
            while more > 0 {
                match self.grow(total.saturating_add(more)) {
                    Ok(()) => break,
                    // A quota that is reached is no error: there may be memory for fewer, and slots that are in use come back.
                    Err(CallError::Refused(_)) => more /= 2,
                    Err(error) => return Err(error),
                }
            }
            if self.slots.count().0 == total {
                return Ok(None);
            }
        }
    }

    /// Makes slots until there are so many, as far as the broker lets it.
    fn grow(&mut self, slots: u16) -> Result<(), CallError> {
        let slots = slots.min(self.welcome.limits.slots_max);
        replies::memory(self.ask(Call::GetMemParams { slots }, None), &self.slots)
    }

    fn connection(&self, newcomer: Newcomer, socket: OwnedFd) -> Result<Connection, CallError> {
        Ok(Connection::new(newcomer, Packets::new(socket)?, self.welcome.limits, self.slots.clone()))
    }

    fn done(&mut self, call: Call) -> Result<(), CallError> {
        replies::done(self.ask(call, None))
    }

    fn ask(&mut self, call: Call, socket: Option<OwnedFd>) -> Answer {
        if self.is_gone {
            return Err(CallError::Gone);
        }
        let deadline = Deadline::after(self.timeout);
        let (tag, packet) = self.calls.call(call);
        send(&mut self.socket, &packet, socket.as_ref(), deadline)?;
        loop {
            let descriptors = self.receive(deadline)?.ok_or_else(late)?;
            if let Some(answer) = self.received(descriptors, Some(tag))? {
                return answer;
            }
        }
    }

    /// The file descriptors of the next packet; `None` if none comes in time.
    fn receive(&mut self, deadline: Deadline) -> Result<Option<Vec<OwnedFd>>, CallError> {
        if self.is_gone {
            return Err(CallError::Gone);
        }
        let received = receive(&mut self.socket, &mut self.packet, deadline);
        self.is_gone = received.is_err();
        received.map_err(|_| CallError::Gone)
    }

    /// Takes what a packet says. Returns the answer of the call with this tag, if it is there.
    fn received(
        &mut self,
        descriptors: Vec<OwnedFd>,
        wanted: Option<u64>,
    ) -> Result<Option<Answer>, CallError> {
        let result = self.take_news(descriptors, wanted);
        // It does what it must not.
        self.is_gone |= result.is_err();
        result
    }

    fn take_news(
        &mut self,
        descriptors: Vec<OwnedFd>,
        wanted: Option<u64>,
    ) -> Result<Option<Answer>, CallError> {
        let mut descriptors = descriptors.into_iter();
        let mut answer = None;
        for news in self.calls.received(self.packet.bytes()).map_err(|_| CallError::Answer)? {
            let descriptor = if news.has_descriptor() { descriptors.next() } else { None };
            match news {
                News::Answer { tag, result } if Some(tag) == wanted => {
                    answer = Some(result.map(|reply| (reply, descriptor)).map_err(CallError::from));
                }
                News::New(newcomer) => {
                    let connection = self.connection(newcomer, descriptor.ok_or(CallError::Answer)?)?;
                    if self.incoming.len() < INCOMING {
                        self.incoming.push_back(connection);
                    }
                }
                // Answers that nobody waits for any more. A connection that was moved says so on its own socket.
                News::Answer { .. } | News::Moved { .. } => {}
                News::Fault { .. } => return Err(CallError::Gone),
            }
        }
        Ok(answer)
    }
}

impl AsFd for Broker {
    /// Readable means that there may be a connection.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}

fn late() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

fn send(
    socket: &mut Packets,
    packet: &Packet,
    descriptor: Option<&OwnedFd>,
    deadline: Deadline,
) -> io::Result<()> {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(sent) = socket.poll_send(&mut cx, packet.bytes(), descriptor) {
            return sent;
        }
        if !deadline.wait(socket.as_fd(), Wanted::Writable)? {
            return Err(late());
        }
    }
}

fn receive(
    socket: &mut Packets,
    packet: &mut PacketBuffer,
    deadline: Deadline,
) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(received) = socket.poll_receive(&mut cx, packet) {
            return received.map(Some);
        }
        if !deadline.wait(socket.as_fd(), Wanted::Readable)? {
            return Ok(None);
        }
    }
}
