//! Clients over SMB Direct, whose connections another process has (`smbd-broker`).

use std::collections::BTreeMap;
use std::fmt;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use smbd_broker::client::{self, Connection};
use smbd_broker::wire::{Age, Area, Direction};
use smbd_smb2::server::{OperationId, Transport};
use tokio::time::Instant;

use super::link::{Event, Link, Order};
use super::queue::Queue;
use super::stuck::{Watch, too_long};
use crate::transport::Lost;

/// Bytes that may wait to be sent before nothing more is received.
const WAITING_MAX: usize = 4 << 20;
/// How long messages may still take to leave when a connection is closed, in milliseconds.
const CLOSE_WITHIN: u32 = 1000;

/// A client whose connection a broker has.
pub struct BrokerLink {
    connection: Connection,
    /// Orders that the broker has not been given.
    queue: Queue,
    /// Transfers by their tags.
    transfers: BTreeMap<u64, Transfer>,
    watch: Watch,
}

/// A transfer that the broker has been given.
struct Transfer {
    id: OperationId,
    direction: Direction,
    /// When it was ordered: time in which it waited for slots counts.
    began: Instant,
}

impl BrokerLink {
    /// Wraps a connection of an owner.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self { connection, queue: Queue::new(), transfers: BTreeMap::new(), watch: Watch::new() }
    }

    /// Gives the broker what waits; ready when it has been given everything.
    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(order) = self.queue.first() {
            let areas = if order.is_transfer() {
                if !self.connection.has_transfer() {
                    return Poll::Pending;
                }
                ready!(self.connection.slots().poll_take(cx, order.moved())).map_err(Lost::because)?
            } else if self.connection.has_room() {
                Vec::new()
            } else {
                return Poll::Pending;
            };
            let Some((came, order)) = self.queue.pop() else { break };
            self.give(came, order, areas).map_err(Lost::because)?;
        }
        self.connection.poll_flush(cx).map_err(Lost::because)
    }

    /// Gives the broker an order, with slots for the data of a transfer.
    fn give(&mut self, came: Instant, order: Order, areas: Vec<Area>) -> Result<(), String> {
        let (id, direction, buffers) = match order {
            Order::Send { message, invalidate } => {
                return self.connection.send(message.bytes(), invalidate).map_err(|error| error.to_string());
            }
            Order::Fetch { id, buffers, .. } => (id, Direction::Read, buffers),
            Order::Deliver { id, data, buffers } => {
                let slots = self.connection.slots();
                let filled = slots.fill(&areas, &data).inspect_err(|_| slots.give(&areas));
                filled.map_err(|error| error.to_string())?;
                (id, Direction::Write, buffers)
            }
        };
        let transfer = smbd_broker::wire::Transfer { direction, offset: 0, remote: buffers, areas };
        let tag = self.connection.start_or_give(transfer).map_err(|error| error.to_string())?;
        self.transfers.insert(tag, Transfer { id, direction, began: came });
        Ok(())
    }

    /// What a transfer that has ended is to the server.
    fn done(&mut self, tag: u64, areas: &[Area], is_success: bool) -> Option<Event> {
        let slots = self.connection.slots();
        let Transfer { id, direction, .. } = self.transfers.remove(&tag)?;
        let event = match direction {
            Direction::Write => Event::Delivered(id, is_success),
            Direction::Read => {
                let mut data = Vec::new();
                let is_there = is_success && slots.read(areas, &mut data).is_ok();
                Event::Fetched(id, is_there.then_some(data))
            }
        };
        slots.give(areas);
        Some(event)
    }
}

impl Link for BrokerLink {
    fn transport(&self) -> Transport {
        Transport::Rdma { send_max: self.connection.newcomer().max_send_size }
    }

    fn order(&mut self, order: Order) {
        self.queue.push(order);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        loop {
            if let Poll::Ready(Err(lost)) = self.poll_orders(cx) {
                return Poll::Ready(Err(lost));
            }
            let wants_messages = wants_messages && self.queue.held() <= WAITING_MAX;
            // A client that goes on sending messages cannot keep this from being looked at.
            let under_way = self.transfers.values().map(|transfer| transfer.began);
            let oldest = under_way.chain(self.queue.oldest_transfer()).min();
            if self.watch.poll(oldest, cx).is_ready() {
                return Poll::Ready(Err(too_long()));
            }
            match ready!(self.connection.poll_event(cx, wants_messages)).map_err(Lost::because)? {
                client::Event::Message { age: Age::New, bytes } => {
                    return Poll::Ready(Ok(Event::Message(BytesMut::from(Bytes::from(bytes)))));
                }
                client::Event::Message { age: Age::PastRequest, bytes } => {
                    return Poll::Ready(Ok(Event::PastRequest(bytes)));
                }
                client::Event::Message { age: Age::PastResponse, bytes } => {
                    return Poll::Ready(Ok(Event::PastResponse(bytes)));
                }
                client::Event::Sent => {}
                client::Event::Done { tag, areas, is_success } => {
                    if let Some(event) = self.done(tag, &areas, is_success) {
                        return Poll::Ready(Ok(event));
                    }
                }
            }
        }
    }

    fn is_transferring(&self) -> bool {
        !self.transfers.is_empty() || self.queue.oldest_transfer().is_some()
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // What comes is told to nobody any more, but the broker has to have all messages: it sends them before it ends a connection.
        loop {
            if self.poll_orders(cx).is_ready() {
                return Poll::Ready(());
            }
            match ready!(self.connection.poll_event(cx, false)) {
                Ok(client::Event::Done { tag, areas, is_success }) => {
                    drop(self.done(tag, &areas, is_success))
                }
                Ok(_) => {}
                Err(_) => return Poll::Ready(()),
            }
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.connection.poll_close(cx, CLOSE_WITHIN)
    }

    fn leave(self: Box<Self>) {
        self.connection.leave();
    }
}

impl fmt::Debug for BrokerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerLink").field("connection", &self.connection).finish_non_exhaustive()
    }
}
