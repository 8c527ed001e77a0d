//! Clients over SMB Direct, whose connections another process has (`smbd-broker`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_broker::client::{Event, OwnedConnection, SlotFile};
use smbd_broker::socket::{PacketSocket, UnixPackets};
use smbd_broker::wire::{Age, Area, Direction, Newcomer, Transfer};
use smbd_link::handles::Piece;
use smbd_smb2::relay::BufferId;
use smbd_verbs::Buffer;

use crate::pump::{Client, Memory, Operation, Order};

/// A client whose connection a broker has.
///
/// What is moved by RDMA is copied between the connection's buffers and slots, which all connections of an owner have in common: a slot
/// belongs to a transfer, and a buffer to its connection.
pub struct Brokered<S = UnixPackets, M = Buffer>
where
    S: PacketSocket<Descriptor: SlotFile>,
{
    connection: OwnedConnection<S>,
    message: Option<Bytes>,
    /// The order that waits for room.
    order: Option<Order<M>>,
    transfers: BTreeMap<u64, Moved<M>>,
    done: VecDeque<(BufferId, bool)>,
    ended: Option<String>,
}

/// A transfer under way.
struct Moved<M> {
    buffer: BufferId,
    memory: M,
    direction: Direction,
}

impl<S: PacketSocket<Descriptor: SlotFile>, M: Memory> Brokered<S, M> {
    /// Wraps a connection that has come from no other owner.
    #[must_use]
    pub const fn new(connection: OwnedConnection<S>) -> Self {
        Self {
            connection,
            message: None,
            order: None,
            transfers: BTreeMap::new(),
            done: VecDeque::new(),
            ended: None,
        }
    }

    /// What the broker says of the connection.
    #[must_use]
    pub const fn newcomer(&self) -> &Newcomer {
        self.connection.newcomer()
    }

    /// Has the broker end the connection, which may take `within` milliseconds for what it was given, and waits for that. Slots of transfers
    /// are free again then. An order that waits is lost.
    pub async fn close(mut self, within: u32) {
        poll_fn(|cx| self.connection.poll_close(cx, within)).await;
    }

    /// Gives the broker the order that waits, if there is room, and takes all that has happened. A message is taken if it is wanted and there
    /// is no other.
    fn go_on(&mut self, cx: &mut Context<'_>, wants_message: bool) {
        while self.ended.is_none() {
            self.give(cx);
            match self.connection.poll_event(cx, wants_message && self.message.is_none()) {
                Poll::Ready(Ok(event)) => self.happened(event),
                Poll::Ready(Err(lost)) => self.end(lost.to_string()),
                Poll::Pending => return,
            }
        }
    }

    fn give(&mut self, cx: &Context<'_>) {
        let has_room = match &self.order {
            None => return,
            Some(Order::Send { .. }) => self.connection.has_room(),
            Some(Order::Read(_) | Order::Write(_)) => self.connection.has_transfer(),
        };
        if !has_room {
            return;
        }
        let given = match self.order.take() {
            None => Ok(()),
            Some(Order::Send { message, invalidate }) => {
                self.connection.send(&message, invalidate).map_err(|error| error.to_string())
            }
            Some(Order::Read(operation)) => self.start(cx, operation, Direction::Read),
            Some(Order::Write(operation)) => self.start(cx, operation, Direction::Write),
        };
        if let Err(why) = given {
            self.end(why);
        }
    }

    /// Starts a transfer, or leaves it as the order that waits until there are slots.
    fn start(
        &mut self,
        cx: &Context<'_>,
        operation: Operation<M>,
        direction: Direction,
    ) -> Result<(), String> {
        let slots = self.connection.slots();
        let Poll::Ready(areas) = slots.poll_take(cx, operation.len.into()) else {
            self.order = Some(match direction {
                Direction::Read => Order::Read(operation),
                Direction::Write => Order::Write(operation),
            });
            return Ok(());
        };
        let areas = areas.map_err(|error| error.to_string())?;
        let Operation { buffer, memory, remote, offset, .. } = operation;
        if direction == Direction::Write {
            let mut at = 0;
            let filled = slots.fill_with(&areas, |bytes| {
                memory.read(at, bytes).map_err(io::Error::other)?;
                at = behind(at, bytes);
                Ok(())
            });
            filled.inspect_err(|_| slots.give(&areas)).map_err(|error| error.to_string())?;
        }
        let transfer = Transfer { direction, offset, remote: remote.to_vec(), areas };
        let tag = self.connection.start_or_give(transfer).map_err(|error| error.to_string())?;
        self.transfers.insert(tag, Moved { buffer, memory, direction });
        Ok(())
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Message { age: Age::New, bytes } => self.message = Some(bytes.into()),
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
    fn is_moved(&self, moved: &Moved<M>, areas: &[Area]) -> bool {
        let mut at = 0;
        let fill = |bytes: &[u8]| {
            moved.memory.fill(at, bytes).map_err(io::Error::other)?;
            at = behind(at, bytes);
            Ok(())
        };
        moved.direction == Direction::Write || self.connection.slots().read_with(areas, fill).is_ok()
    }

    fn end(&mut self, why: String) {
        self.ended = Some(why);
        self.order = None;
    }
}

/// Where the bytes behind these are.
fn behind(at: u32, bytes: &[u8]) -> u32 {
    at.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX))
}

impl<S: PacketSocket<Descriptor: SlotFile>, M: Memory> Client for Brokered<S, M> {
    type Memory = M;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.go_on(cx, true);
        match self.message.take() {
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

impl<S: PacketSocket<Descriptor: SlotFile>, M> fmt::Debug for Brokered<S, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brokered").field("connection", &self.connection).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
