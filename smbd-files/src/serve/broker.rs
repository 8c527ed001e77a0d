//! Clients over SMB Direct, whose connections another process has (`smbd-broker`).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use smbd_broker::client::{self, Connection};
use smbd_broker::wire::{Age, Area, Direction};
use smbd_smb2::server::{OperationId, Transport};
use tokio::time::Instant;

use super::link::{Event, Link, Order};
use super::stuck::{Watch, too_long};
use crate::transport::Lost;

/// Bytes that may wait to be sent before nothing more is received.
const WAITING_MAX: usize = 4 << 20;
/// How long messages may still take to leave when a connection is closed, in milliseconds.
const CLOSE_WITHIN: u32 = 1000;

/// A client whose connection a broker has.
pub struct BrokerLink {
    connection: Connection,
    outbox: VecDeque<Order>,
    /// Bytes of memory of orders that the broker has not been given.
    waiting: usize,
    /// Slots that were taken for the first order.
    areas: Option<Vec<Area>>,
    /// Transfers by their tags.
    transfers: BTreeMap<u64, Transfer>,
    watch: Watch,
}

/// A transfer that the broker has been given.
struct Transfer {
    id: OperationId,
    direction: Direction,
    began: Instant,
}

impl BrokerLink {
    /// Wraps a connection of an owner.
    #[must_use]
    pub const fn new(connection: Connection) -> Self {
        Self {
            connection,
            outbox: VecDeque::new(),
            waiting: 0,
            areas: None,
            transfers: BTreeMap::new(),
            watch: Watch::new(),
        }
    }

    /// Gives the broker what waits; ready when it has been given everything.
    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(order) = self.outbox.front() {
            let held = order.held();
            match order {
                Order::Send { .. } if !self.connection.has_room() => return Poll::Pending,
                Order::Fetch { .. } | Order::Deliver { .. } if !self.connection.has_transfer() => {
                    return Poll::Pending;
                }
                Order::Send { .. } => {}
                Order::Fetch { .. } | Order::Deliver { .. } => {
                    if self.areas.is_none() {
                        let areas = ready!(self.connection.slots().poll_take(cx, order.moved()));
                        self.areas = Some(areas.map_err(Lost::because)?);
                    }
                }
            }
            let Some(order) = self.outbox.pop_front() else { break };
            self.waiting = self.waiting.saturating_sub(held);
            self.give(order).map_err(Lost::because)?;
        }
        self.connection.poll_flush(cx).map_err(Lost::because)
    }

    fn give(&mut self, order: Order) -> Result<(), String> {
        let (id, direction, buffers) = match order {
            Order::Send { message, invalidate } => {
                return self.connection.send(message.bytes(), invalidate).map_err(|error| error.to_string());
            }
            Order::Fetch { id, buffers, .. } => (id, Direction::Read, buffers),
            Order::Deliver { id, data, buffers } => {
                let areas = self.areas.as_deref().unwrap_or_default();
                self.connection.slots().fill(areas, &data).map_err(|error| error.to_string())?;
                (id, Direction::Write, buffers)
            }
        };
        let areas = self.areas.take().unwrap_or_default();
        let transfer = smbd_broker::wire::Transfer { direction, offset: 0, remote: buffers, areas };
        let tag = self.connection.start_or_give(transfer).map_err(|error| error.to_string())?;
        self.transfers.insert(tag, Transfer { id, direction, began: Instant::now() });
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
        self.waiting = self.waiting.saturating_add(order.held());
        self.outbox.push_back(order);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        loop {
            if let Poll::Ready(Err(lost)) = self.poll_orders(cx) {
                return Poll::Ready(Err(lost));
            }
            let wants_messages = wants_messages && self.waiting <= WAITING_MAX;
            // A client that goes on sending messages cannot keep this from being looked at.
            let oldest = self.transfers.values().map(|transfer| transfer.began).min();
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
        let is_transfer = |order: &Order| !matches!(order, Order::Send { .. });
        !self.transfers.is_empty() || self.outbox.iter().any(is_transfer)
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
