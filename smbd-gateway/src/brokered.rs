//! Clients over SMB Direct, whose connections another process has (`smbd-broker`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_broker::client::{Event, OwnedConnection};
use smbd_broker::socket::{PacketSocket, UnixPackets};
use smbd_broker::wire::{Age, Area, Direction, Transfer};
use smbd_core::runtime::tokio::Piece;
use smbd_smb2::relay::BufferId;
use smbd_verbs::Buffer;

use crate::pump::{Client, Memory, Operation, Order};

/// A client whose connection a broker has.
///
/// What is moved by RDMA is copied between the connection's buffers and slots, which all connections of an owner have in common: a slot
/// belongs to a transfer, and a buffer to its connection.
pub struct Brokered<S: PacketSocket = UnixPackets, M = Buffer> {
    connection: OwnedConnection<S>,
    messages: VecDeque<Bytes>,
    /// The order that waits for room, and slots that were taken for it.
    order: Option<Order<M>>,
    areas: Option<Vec<Area>>,
    transfers: BTreeMap<u64, Moved<M>>,
    done: VecDeque<(BufferId, bool)>,
    /// For copies.
    scratch: Vec<u8>,
    ended: Option<String>,
}

/// A transfer under way.
struct Moved<M> {
    buffer: BufferId,
    memory: M,
    direction: Direction,
}

impl<S: PacketSocket, M: Memory> Brokered<S, M> {
    /// Wraps a connection that has come from no other owner.
    #[must_use]
    pub const fn new(connection: OwnedConnection<S>) -> Self {
        Self {
            connection,
            messages: VecDeque::new(),
            order: None,
            areas: None,
            transfers: BTreeMap::new(),
            done: VecDeque::new(),
            scratch: Vec::new(),
            ended: None,
        }
    }

    /// Has the broker end the connection, which may take `within` milliseconds for what it was given, and waits for that. Slots of transfers
    /// are free again then. An order that waits is lost.
    pub async fn close(mut self, within: u32) {
        self.drop_order();
        self.connection.disconnect(within);
        poll_fn(|cx| {
            self.go_on(cx, true);
            self.messages.clear();
            if self.ended.is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Gives the broker the order that waits, if there is room, and takes all that has happened. A message is taken if it is wanted and there
    /// is no other.
    fn go_on(&mut self, cx: &mut Context<'_>, wants_message: bool) {
        while self.ended.is_none() {
            self.give(cx);
            let wants_message = wants_message && self.messages.is_empty();
            match self.connection.poll_event(cx, wants_message) {
                Poll::Ready(Ok(event)) => self.happened(event),
                Poll::Ready(Err(lost)) => self.end(lost.to_string()),
                Poll::Pending if self.has_room() => {}
                Poll::Pending => return,
            }
        }
    }

    /// Whether the order that waits can be given now, slots aside.
    fn has_room(&self) -> bool {
        match &self.order {
            None => false,
            Some(Order::Send { .. }) => self.connection.has_room(),
            Some(Order::Read(_) | Order::Write(_)) => self.connection.has_transfer() && self.areas.is_some(),
        }
    }

    fn give(&mut self, cx: &mut Context<'_>) {
        match &self.order {
            None => return,
            Some(Order::Send { .. }) if !self.connection.has_room() => return,
            Some(Order::Send { .. }) => {}
            Some(Order::Read(operation) | Order::Write(operation)) => {
                if !self.connection.has_transfer() {
                    return;
                }
                if self.areas.is_none() {
                    let Poll::Ready(areas) = self.connection.slots().poll_take(cx, operation.len.into())
                    else {
                        return;
                    };
                    self.areas = Some(areas);
                }
            }
        }
        let given = match self.order.take() {
            None => Ok(()),
            Some(Order::Send { message, invalidate }) => {
                self.connection.send(&message, invalidate).map_err(|error| error.to_string())
            }
            Some(Order::Read(operation)) => self.start(operation, Direction::Read),
            Some(Order::Write(operation)) => self.start(operation, Direction::Write),
        };
        if let Err(why) = given {
            self.end(why);
        }
    }

    fn start(&mut self, operation: Operation<M>, direction: Direction) -> Result<(), String> {
        let Operation { buffer, memory, remote, offset, len } = operation;
        let areas = self.areas.take().unwrap_or_default();
        if direction == Direction::Write {
            self.scratch.resize(len as usize, 0);
            memory.read(0, &mut self.scratch).map_err(|error| error.to_string())?;
            self.connection.slots().fill(&areas, &self.scratch).map_err(|error| error.to_string())?;
        }
        let transfer = Transfer { direction, offset, remote: remote.to_vec(), areas };
        let tag = self.connection.start(transfer).map_err(|error| error.to_string())?;
        self.transfers.insert(tag, Moved { buffer, memory, direction });
        Ok(())
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Message { age: Age::New, bytes } => self.messages.push_back(bytes.into()),
            // Somebody else has answered it, or has sent it.
            Event::Message { .. } | Event::Sent => {}
            Event::Done { tag, areas, is_success } => {
                if let Some(moved) = self.transfers.remove(&tag) {
                    let is_success = is_success && self.is_moved(&moved, &areas);
                    self.done.push_back((moved.buffer, is_success));
                }
                self.connection.slots().give(&areas);
            }
        }
    }

    /// Copies what was read from the client's memory. Whether all of it was there.
    fn is_moved(&mut self, moved: &Moved<M>, areas: &[Area]) -> bool {
        if moved.direction == Direction::Write {
            return true;
        }
        self.scratch.clear();
        self.connection.slots().read(areas, &mut self.scratch).is_ok()
            && moved.memory.fill(0, &self.scratch).is_ok()
    }

    fn end(&mut self, why: String) {
        self.ended = Some(why);
        self.drop_order();
    }

    fn drop_order(&mut self) {
        self.order = None;
        if let Some(areas) = self.areas.take() {
            self.connection.slots().give(&areas);
        }
    }
}

impl<S: PacketSocket, M: Memory> Client for Brokered<S, M> {
    type Memory = M;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.go_on(cx, true);
        match self.messages.pop_front() {
            Some(bytes) => Poll::Ready(Some(Piece { bytes, remaining: 0 })),
            None if self.ended.is_some() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.go_on(cx, false);
        self.ended.clone().map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.go_on(cx, false);
        if self.order.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn order(&mut self, order: Order<M>) {
        // Orders to a connection that has ended are lost.
        self.order = Some(order).filter(|_| self.ended.is_none());
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<(BufferId, bool)> {
        self.go_on(cx, false);
        self.done.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<S: PacketSocket, M> fmt::Debug for Brokered<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brokered").field("connection", &self.connection).finish_non_exhaustive()
    }
}
