//! A connection of an owner as a [`Transport`].

mod copy;
mod drive;
mod error;
mod inbox;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::RegisterError;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::Failure;
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, Memory, Past, RdmaLimits, Transport};

use super::connection::OwnedConnection;
use super::slot_file::SlotFile;
use crate::owner::MESSAGE_MAX;
use crate::socket::PacketSocket;
use crate::wire::{Direction, Newcomer};
pub use error::CarriedError;
use inbox::Inbox;

/// Orders that may wait for the broker before no more should be given.
const ORDERS_MAX: usize = 8;
/// Bytes of messages among them before no more should be given.
const WAITING_MAX: usize = 1 << 20;

/// A connection that a broker has, as a [`Transport`].
///
/// Data of RDMA operations are copied between the owner's memory and slots. An operation waits until there are enough slots.
/// [`Transport::poll_ready`] is ready when less than 8 orders and 1 MiB of messages wait for the broker. One message is taken from the broker before the owner asks
/// for it, so [`Transport::try_recv`] and [`Transport::try_past`] together return one message for each poll of the connection.
///
/// A broker registers no memory of its owners: every registration fails. The broker says late which messages have left, and limits those
/// that have not left; so [`Transport::unsent`] is always 0.
///
/// [`Transport::closed`] has the words of the broker ([`Lost`](super::Lost)), also after [`Transport::close`]. There is no clock in here: the
/// time of `close` begins when the broker has been given all orders. An owner that does not wait for that calls
/// [`Transport::drop_orders`].
pub struct Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    newcomer: Newcomer,
    /// `None` when it was left.
    connection: Option<OwnedConnection<S>>,
    leave: fn(OwnedConnection<S>),
    orders: VecDeque<Order<M, N>>,
    /// Bytes of the messages among them.
    waiting: usize,
    /// By their tags.
    transfers: BTreeMap<u64, Moved<M, N>>,
    events: VecDeque<Event<N, CarriedError>>,
    inbox: Inbox,
    closing: Closing,
    ending: Option<Ending<CarriedError>>,
    /// Nothing more comes from the broker.
    is_over: bool,
    /// The ending was told as an event.
    is_told: bool,
}

/// What the broker is given in turn: a message behind data arrives behind them.
enum Order<M, N> {
    Send { message: Bytes, invalidate: Option<Token> },
    Rdma(Transfer<M, N>),
}

/// A transfer that waits.
struct Transfer<M, N> {
    name: N,
    direction: Direction,
    memory: M,
    remote: Arc<[BufferDescriptorV1]>,
    offset: u64,
    len: u32,
}

/// A transfer under way.
struct Moved<M, N> {
    name: N,
    memory: M,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// When the broker has been given all orders, with so many milliseconds from then on.
    Wanted(u32),
    /// The broker was told.
    Told,
}

impl<S, M, N> Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile> + Send + 'static,
{
    /// Wraps a connection from which nothing was taken. It is [left](OwnedConnection::leave) in the end.
    #[must_use]
    pub fn new(connection: OwnedConnection<S>) -> Self {
        Self::with_leave(connection, OwnedConnection::leave)
    }
}

impl<S, M, N> Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    /// Wraps a connection from which nothing was taken. It goes to `leave` in the end.
    #[must_use]
    pub fn with_leave(connection: OwnedConnection<S>, leave: fn(OwnedConnection<S>)) -> Self {
        Self {
            newcomer: connection.newcomer().clone(),
            connection: Some(connection),
            leave,
            orders: VecDeque::new(),
            waiting: 0,
            transfers: BTreeMap::new(),
            events: VecDeque::new(),
            inbox: Inbox::default(),
            closing: Closing::No,
            ending: None,
            is_over: false,
            is_told: false,
        }
    }

    /// What the broker says of the connection.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        &self.newcomer
    }

    fn is_open(&self) -> bool {
        self.closing == Closing::No && self.ending.is_none() && self.connection.is_some()
    }

    fn is_full(&self) -> bool {
        let is_much = self.orders.len() >= ORDERS_MAX || self.waiting >= WAITING_MAX;
        is_much && self.ending.is_none()
    }

    fn give_up(&mut self) {
        if let Some(connection) = self.connection.take() {
            (self.leave)(connection);
        }
    }
}

impl<S, M, N> Transport<N> for Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
    M: Memory + Clone,
{
    type Memory = M;
    type Error = CarriedError;

    fn limits(&self) -> Limits {
        let &Newcomer { max_send_size, max_read_write_size, .. } = &self.newcomer;
        Limits {
            max_send: max_send_size,
            max_receive: MESSAGE_MAX,
            rdma: Some(RdmaLimits { max_read_write: max_read_write_size, remote_invalidation: false }),
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, CarriedError>> {
        if self.connection.is_none() {
            return Poll::Pending;
        }
        self.drive(cx);
        if let Some(event) = self.events.pop_front() {
            return Poll::Ready(event);
        }
        match &self.ending {
            Some(ending) if self.is_over && !self.is_told => {
                self.is_told = true;
                Poll::Ready(Event::Ended(ending.clone()))
            }
            _ => Poll::Pending,
        }
    }

    fn try_recv(&mut self) -> Option<Piece> {
        self.inbox.pop_new().map(|bytes| Piece { bytes, remaining: 0 })
    }

    fn try_past(&mut self) -> Option<Past> {
        self.inbox.pop_past()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_full() {
            self.drive(cx);
        }
        if self.is_full() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        if self.is_open() {
            self.waiting = self.waiting.saturating_add(message.len());
            self.orders.push_back(Order::Send { message, invalidate });
        }
    }

    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: M,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        if !self.is_open() {
            return self.refuse(name);
        }
        let direction = match verb {
            RdmaVerb::Read => Direction::Read,
            RdmaVerb::Write => Direction::Write,
        };
        self.orders.push_back(Order::Rdma(Transfer { name, direction, memory, remote, offset, len }));
    }

    fn register(&mut self, name: N, _: M, _: Access) {
        let result = Err(Failure::Backend(CarriedError::Register));
        self.events.push_back(Event::Registered { name, result });
    }

    fn deregister(&mut self, name: N) {
        let result = Err(RegisterError::NotRegistered.into());
        self.events.push_back(Event::Deregistered { name, result });
    }

    fn waiting(&self) -> usize {
        self.orders.len()
    }

    fn waiting_bytes(&self) -> usize {
        self.waiting
    }

    fn keep(&mut self, messages: usize, bytes: usize) {
        self.inbox.keep(messages, bytes);
    }

    fn has_messages(&self) -> bool {
        self.inbox.has_new()
    }

    fn ignore_messages(&mut self) {
        self.inbox.ignore();
    }

    fn closed(&self) -> Option<&Ending<CarriedError>> {
        self.ending.as_ref()
    }

    fn close(&mut self, within: Duration) {
        if self.closing == Closing::No {
            self.closing = Closing::Wanted(u32::try_from(within.as_millis()).unwrap_or(u32::MAX));
        }
    }

    fn drop_orders(&mut self) {
        self.refuse_all();
    }

    fn leave(&mut self) {
        self.inbox.ignore();
        self.give_up();
    }
}

impl<S, M, N> Drop for Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<S, M, N> fmt::Debug for Carried<S, M, N>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried")
            .field("newcomer", &self.newcomer)
            .field("waiting", &self.orders.len())
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
