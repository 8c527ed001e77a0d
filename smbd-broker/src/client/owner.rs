//! The socket of an owner, and what asks through it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::path::Path;

use smbd_smb2::wire::Guid;
use tokio::sync::{mpsc, oneshot};

use super::connection::OwnedConnection;
use super::error::CallError;
use super::replies::{self, Answer};
use super::slots::Slots;
use crate::owner::{Calls, News};
use crate::socket::{PacketBuffer, PacketSocket, UnixPackets};
use crate::wire::{Call, Limits, Newcomer, Packet, Parameters, VERSION, Welcome};

/// A connection of an owner on tokio.
pub type Connection = OwnedConnection<UnixPackets>;

/// Calls that wait for the socket.
const CALLS: usize = 16;
/// Connections that wait to be taken. Their sockets hold up their clients.
const INCOMING: usize = 64;
/// Slots at first. There are twice as many each time they are too few.
const SLOTS_MIN: u16 = 8;

struct Ask {
    call: Call,
    socket: Option<OwnedFd>,
    answer: oneshot::Sender<Answer>,
}

/// A broker, as an owner asks it. Clones are the same owner.
#[derive(Clone)]
pub struct Broker {
    asks: mpsc::Sender<Ask>,
    slots: Slots,
    welcome: Welcome,
}

/// The connections that come to an owner. The owner leaves when it is dropped, and with it all clones of its [`Broker`].
#[derive(Debug)]
pub struct Incoming {
    connections: mpsc::Receiver<Connection>,
}

/// Becomes an owner, with this name for the log of the broker. Spawns the task that has its socket.
///
/// # Errors
/// There is no broker at `path`, or it refuses.
pub async fn connect(path: &Path, name: &str) -> Result<(Broker, Incoming), CallError> {
    let mut socket = UnixPackets::connect(path)?;
    let mut calls = Calls::new();
    let (_, packet) = calls.call(Call::Hello { version: VERSION, name: name.to_owned() });
    poll_fn(|cx| socket.poll_send(cx, packet.bytes(), None)).await?;
    let mut packet = PacketBuffer::new();
    poll_fn(|cx| socket.poll_receive(cx, &mut packet)).await?;
    let welcome = replies::welcome(&mut calls, packet.bytes())?;
    let slots = Slots::new(&welcome.limits);
    let (asks, to_do) = mpsc::channel(CALLS);
    let (tell, connections) = mpsc::channel(INCOMING);
    let task = Task {
        socket,
        calls,
        limits: welcome.limits,
        slots: slots.clone(),
        to_do,
        waiting: BTreeMap::new(),
        tell,
    };
    tokio::spawn(task.run());
    let broker = Broker { asks, slots: slots.clone(), welcome };
    broker.grow(SLOTS_MIN).await?;
    tokio::spawn(grow(broker.clone()));
    Ok((broker, Incoming { connections }))
}

/// Makes slots when there are too few, until the owner is gone.
async fn grow(broker: Broker) {
    loop {
        tokio::select! {
            () = broker.asks.closed() => return,
            () = poll_fn(|cx| broker.slots.poll_short(cx)) => {}
        }
        let (total, _) = broker.slots.count();
        let mut more = total;
        while more > 0 && matches!(broker.grow(total.saturating_add(more)).await, Err(CallError::Refused(_)))
        {
            // There may be memory for fewer.
            more /= 2;
        }
        if broker.slots.count().0 == total {
            broker.slots.none_added();
        }
    }
}

impl Broker {
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
    pub async fn listen(&self, is_on: bool) -> Result<(), CallError> {
        self.done(Call::Listen { is_on }).await
    }

    /// How connections are configured that come from now on. Only for the default acceptor.
    ///
    /// # Errors
    /// The broker refuses, or is gone.
    pub async fn set_parameters(&self, parameters: Parameters) -> Result<(), CallError> {
        self.done(Call::SetParameters(Box::new(parameters))).await
    }

    /// Takes connections that bind this session, or does not any more.
    ///
    /// # Errors
    /// Another owner holds it, or the broker is gone.
    pub async fn set_session_id(&self, session_id: u64, is_held: bool) -> Result<(), CallError> {
        self.done(Call::SetSessionId { session_id, is_held }).await
    }

    /// Takes connections of this client, or does not any more.
    ///
    /// # Errors
    /// Another owner holds it, or the broker is gone.
    pub async fn set_client_guid(&self, client_guid: Guid, is_held: bool) -> Result<(), CallError> {
        self.done(Call::SetClientGuid { client_guid, is_held }).await
    }

    /// Takes over a connection whose socket another owner has given away, with what its [`Newcomer`] said. What the former owner has not
    /// read is read from `socket` first: it ends behind that.
    ///
    /// # Errors
    /// It is not the socket of a connection, the connection has ended, or the broker is gone.
    pub async fn attach(&self, socket: OwnedFd, newcomer: Newcomer) -> Result<Connection, CallError> {
        let former = socket.try_clone()?;
        let socket = replies::attached(self.ask(Call::Attach, Some(socket)).await)?;
        Ok(self.connection(newcomer, socket)?.behind(UnixPackets::new(former)?))
    }

    /// Makes slots until there are so many, as far as the broker lets it.
    async fn grow(&self, slots: u16) -> Result<(), CallError> {
        let slots = slots.min(self.welcome.limits.slots_max);
        replies::memory(self.ask(Call::GetMemParams { slots }, None).await, &self.slots)
    }

    fn connection(&self, newcomer: Newcomer, socket: OwnedFd) -> Result<Connection, CallError> {
        connection(newcomer, socket, self.welcome.limits, self.slots.clone())
    }

    async fn done(&self, call: Call) -> Result<(), CallError> {
        replies::done(self.ask(call, None).await)
    }

    async fn ask(&self, call: Call, socket: Option<OwnedFd>) -> Answer {
        let (answer, told) = oneshot::channel();
        self.asks.send(Ask { call, socket, answer }).await.map_err(|_| CallError::Gone)?;
        told.await.unwrap_or(Err(CallError::Gone))
    }
}

impl Incoming {
    /// The next connection; `None` when the broker is gone. None is lost if this is dropped.
    pub async fn next(&mut self) -> Option<Connection> {
        self.connections.recv().await
    }
}

fn connection(
    newcomer: Newcomer,
    socket: OwnedFd,
    limits: Limits,
    slots: Slots,
) -> Result<Connection, CallError> {
    Ok(Connection::new(newcomer, UnixPackets::new(socket)?, limits, slots))
}

/// Has the socket of an owner.
struct Task {
    socket: UnixPackets,
    calls: Calls,
    limits: Limits,
    slots: Slots,
    to_do: mpsc::Receiver<Ask>,
    waiting: BTreeMap<u64, oneshot::Sender<Answer>>,
    tell: mpsc::Sender<Connection>,
}

enum Step {
    Ask(Ask),
    Packet(Vec<OwnedFd>),
    Over,
}

impl Task {
    async fn run(mut self) {
        let mut packet = PacketBuffer::new();
        loop {
            match self.step(&mut packet).await {
                Step::Ask(Ask { call, socket, answer }) => {
                    let (tag, packet) = self.calls.call(call);
                    self.waiting.insert(tag, answer);
                    if self.send(&packet, socket).await.is_none() {
                        return;
                    }
                }
                Step::Packet(descriptors) => {
                    if self.received(packet.bytes(), descriptors).await.is_none() {
                        return;
                    }
                }
                Step::Over => return,
            }
        }
    }

    async fn step(&mut self, packet: &mut PacketBuffer) -> Step {
        let Self { socket, to_do, tell, .. } = self;
        tokio::select! {
            // Who takes no connections is no owner.
            () = tell.closed() => Step::Over,
            received = poll_fn(|cx| socket.poll_receive(cx, packet)) => {
                received.map_or(Step::Over, Step::Packet)
            }
            ask = to_do.recv() => ask.map_or(Step::Over, Step::Ask),
        }
    }

    async fn send(&mut self, packet: &Packet, socket: Option<OwnedFd>) -> Option<()> {
        poll_fn(|cx| self.socket.poll_send(cx, packet.bytes(), socket.as_ref())).await.ok()
    }

    /// Nothing if the broker does what it must not, or nobody wants to hear of it any more.
    async fn received(&mut self, packet: &[u8], descriptors: Vec<OwnedFd>) -> Option<()> {
        let mut descriptors = descriptors.into_iter();
        for news in self.calls.received(packet).ok()? {
            let descriptor = if news.has_descriptor() { Some(descriptors.next()?) } else { None };
            match news {
                News::Answer { tag, result } => {
                    let answer = result.map(|reply| (reply, descriptor)).map_err(CallError::from);
                    if let Some(waiting) = self.waiting.remove(&tag) {
                        // Nobody may wait any more.
                        let _ = waiting.send(answer);
                    }
                }
                News::New(newcomer) => {
                    let socket = descriptor?;
                    let connection = connection(newcomer, socket, self.limits, self.slots.clone()).ok()?;
                    self.tell.send(connection).await.ok()?;
                }
                // Its socket says so as well.
                News::Moved { .. } => {}
                News::Fault { .. } => return None,
            }
        }
        Some(())
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}
