//! What the relay wants, on its way to both sides.

use std::collections::VecDeque;
use std::task::Context;

use bytes::Bytes;
use smbd_smb2::relay::{Action, Reason, Room, Source, Transfer};

use super::buffers::Buffers;
use super::client::{Client, Memory, Operation, Order};
use super::ending::Ending;
use super::outbox::Outbox;
use super::seen::Seen;
use super::server::Server;

/// Orders that may wait before the relay gets no room for messages to the client.
const ORDERS_MAX: usize = 8;
/// Bytes of messages to the client from which on none is begun.
const WAITING_MAX: usize = 1 << 20;
/// The longest message of direct TCP (MS-SMB2 2.1).
const MESSAGE_MAX: usize = 0x00FF_FFFF;

/// The most bytes of messages that wait for the client, if none is longer than `answer_max`: one is begun as long as there is room.
pub(super) const fn waiting_max(answer_max: usize) -> usize {
    WAITING_MAX.saturating_add(answer_max)
}

#[derive(Debug)]
pub(super) struct Outgoing<M> {
    pub(super) outbox: Outbox,
    pub(super) buffers: Buffers<M>,
    pub(super) seen: Seen,
    orders: VecDeque<Order<M>>,
    /// Bytes of messages in orders.
    waiting: usize,
    /// The message to the client that is being put together.
    message: Vec<u8>,
}

/// What came of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Something,
    Idle,
    Closed(Reason),
}

impl<M: Memory> Outgoing<M> {
    pub(super) fn new(buffers: Buffers<M>) -> Self {
        Self {
            outbox: Outbox::default(),
            buffers,
            seen: Seen::default(),
            orders: VecDeque::new(),
            waiting: 0,
            message: Vec::new(),
        }
    }

    /// What the sides take now.
    pub(super) fn room(&self) -> Room {
        let client = if self.has_room() { MESSAGE_MAX } else { 0 };
        Room { client, server: self.outbox.room() }
    }

    /// Whether the client takes messages.
    pub(super) fn has_room(&self) -> bool {
        self.orders.len() < ORDERS_MAX && self.waiting < WAITING_MAX
    }

    /// Whether nothing waits for a side or for a device.
    pub(super) fn is_empty(&self) -> bool {
        let is_idle = self.outbox.is_empty() && self.buffers.running == 0;
        is_idle && self.orders.is_empty() && self.message.is_empty()
    }

    /// Carries out an action, or keeps it until a side takes it.
    pub(super) fn carry_out(
        &mut self,
        action: Action<'_>,
        server: &mut impl Server<M>,
        cx: &mut Context<'_>,
    ) -> Result<Done, Ending> {
        match action {
            Action::ToServer(Source::Bytes(bytes)) => self.outbox.bytes(bytes, server, cx)?,
            Action::ToServer(Source::Buffer { head, buffer, offset, len }) => {
                if !head.is_empty() {
                    self.outbox.bytes(head, server, cx)?;
                }
                self.outbox.buffer(buffer, offset, len);
            }
            Action::ToClient { write, bytes, remaining, invalidate } => {
                if let Some(transfer) = write {
                    self.write(transfer)?;
                }
                if self.message.is_empty() {
                    self.message.reserve_exact(bytes.len().saturating_add(remaining as usize));
                }
                self.message.extend_from_slice(bytes);
                if remaining == 0 {
                    let message = std::mem::take(&mut self.message);
                    self.seen.look(&message);
                    if self.seen.has_session {
                        self.buffers.allow();
                    }
                    self.waiting = self.waiting.saturating_add(message.len());
                    self.orders.push_back(Order::Send { message: Bytes::from(message), invalidate });
                }
            }
            Action::RdmaRead(transfer) => {
                let operation = self.operation(transfer)?;
                self.orders.push_back(Order::Read(operation));
            }
            Action::RdmaWrite(transfer) => self.write(transfer)?,
            Action::Store { buffer, offset, bytes } => self.buffers.get(buffer)?.fill(offset, bytes)?,
            Action::Idle(_) => return Ok(Done::Idle),
            Action::Close(reason) => return Ok(Done::Closed(reason)),
        }
        Ok(Done::Something)
    }

    fn write(&mut self, transfer: Transfer) -> Result<(), Ending> {
        let operation = self.operation(transfer)?;
        self.orders.push_back(Order::Write(operation));
        Ok(())
    }

    fn operation(&mut self, transfer: Transfer) -> Result<Operation<M>, Ending> {
        let Transfer { buffer, len, remote, offset } = transfer;
        let memory = self.buffers.get(buffer)?.clone();
        self.buffers.running = self.buffers.running.saturating_add(1);
        Ok(Operation { buffer, memory, remote, offset, len })
    }

    /// Gives the client what it takes. Whether it took anything.
    pub(super) fn give(&mut self, client: &mut impl Client<Memory = M>, cx: &mut Context<'_>) -> bool {
        let mut has_given = false;
        // Asked also if nothing waits: that moves what it has taken.
        while client.poll_ready(cx).is_ready() {
            let Some(order) = self.orders.pop_front() else { break };
            if let Order::Send { message, .. } = &order {
                self.waiting = self.waiting.saturating_sub(message.len());
            }
            client.order(order);
            has_given = true;
        }
        has_given
    }
}
