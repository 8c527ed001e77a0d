//! Clients over SMB Direct.

use std::collections::VecDeque;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_core::backend::OutOfMemory;
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_core::{Config, RdmaVerb};
use smbd_link::link::{self, Ending, Link, Owned};
use smbd_smb2::server::{OperationId, Transport};
use smbd_verbs::tokio::{AsyncEnd, Failure, Incoming, Options};
use smbd_verbs::{Buffer, Error};
use tokio::time::Instant;

use super::link::{Event, Order};
use super::queue::Queue;
use super::stuck::{Watch, too_long};
use crate::transport::Lost;

/// Transfers under way at one time. The configuration of the connection has to allow so many.
pub const TRANSFERS_MAX: u16 = 32;
/// Bytes that may wait to be sent before nothing more is received.
const WAITING_MAX: usize = 4 << 20;
/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// Idle buffers that are kept, and the shortest that is made, in bytes.
const IDLE_MAX: usize = 8;
const BUFFER_MIN: u32 = 64 << 10;

/// A client over SMB Direct.
pub struct RdmaLink {
    send_max: u32,
    link: Owned<AsyncEnd, OperationId>,
    /// Orders that wait for the connection.
    queue: Queue,
    transfers: Vec<Transfer>,
    /// Those that are over.
    over: VecDeque<(OperationId, bool)>,
    watch: Watch,
    idle: Vec<Buffer>,
    /// Why nothing goes on.
    lost: Option<Lost>,
}

struct Transfer {
    id: OperationId,
    buffer: Buffer,
    len: u32,
    is_fetch: bool,
    /// When it was ordered: time in which it waited for others counts.
    began: Instant,
}

impl RdmaLink {
    /// Transfers under way at one time.
    pub const TRANSFERS_MAX: u16 = TRANSFERS_MAX;

    /// Accepts a client. `config` allows [`Self::TRANSFERS_MAX`] RDMA operations. Waits until the connection is established.
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection ends.
    ///
    /// # Errors
    /// The connection is not established, or the device fails.
    pub async fn accept(incoming: Incoming, config: &Config, options: Options) -> Result<Self, Failure> {
        let (link, negotiated) = incoming.link(config, options).await?;
        Ok(Self {
            send_max: negotiated.max_fragmented_send_size,
            link,
            queue: Queue::new(),
            transfers: Vec::new(),
            over: VecDeque::new(),
            watch: Watch::default(),
            idle: Vec::new(),
            lost: None,
        })
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(link) = self.link.get_mut() else { return };
        while let Poll::Ready(event) = link.poll_event(cx) {
            if let link::Event::RdmaDone { name, result } = event {
                self.over.push_back((name, result.is_ok()));
            }
        }
        if self.lost.is_none() {
            self.lost = link.closed().map(why);
        }
    }

    /// Gives the connection what waits, as far as it has room. Returns whether it has taken everything.
    fn give(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            let Some(link) = self.link.get_mut().filter(|_| self.lost.is_none()) else { return true };
            let Some(is_transfer) = self.queue.first().map(Order::is_transfer) else {
                return link.waiting() == 0;
            };
            let is_much = is_transfer && self.transfers.len() >= usize::from(TRANSFERS_MAX);
            if is_much || link.poll_ready(cx).is_pending() {
                return false;
            }
            let Some((began, order)) = self.queue.pop() else { return true };
            if let Err(lost) = self.take(began, order) {
                self.lost.get_or_insert(lost);
                return true;
            }
        }
    }

    /// Gives the connection an order, which came at `began`.
    fn take(&mut self, began: Instant, order: Order) -> Result<(), Lost> {
        let (id, verb, buffer, remote, len) = match order {
            Order::Send { message, invalidate } => {
                let (bytes, start) = message.into_parts();
                let message = Bytes::from(bytes);
                let message = message.slice(start.min(message.len())..);
                if let Some(link) = self.link.get_mut() {
                    link.send(message, invalidate);
                }
                return Ok(());
            }
            Order::Fetch { id, buffers, len } => (id, RdmaVerb::Read, self.buffer(len)?, buffers, len),
            Order::Deliver { id, data, buffers } => {
                let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
                let buffer = self.buffer(len)?;
                buffer.fill(0, &data).map_err(Lost::because)?;
                (id, RdmaVerb::Write, buffer, buffers, len)
            }
        };
        let is_fetch = verb == RdmaVerb::Read;
        self.transfers.push(Transfer { id, buffer: buffer.clone(), len, is_fetch, began });
        if let Some(link) = self.link.get_mut() {
            link.rdma(id, verb, buffer, remote.into(), 0, len);
        }
        Ok(())
    }

    /// A buffer of so many bytes at least.
    fn buffer(&mut self, len: u32) -> Result<Buffer, Lost> {
        let fits = |buffer: &Buffer| buffer.len() >= len;
        match self.idle.iter().position(fits) {
            Some(at) => Ok(self.idle.swap_remove(at)),
            None => new_buffer(len, Buffer::new),
        }
    }

    /// A message that has come.
    fn message(&mut self) -> Option<Event> {
        let piece = self.link.get_mut()?.try_recv()?;
        Some(Event::Message(BytesMut::from(piece.bytes)))
    }

    /// A transfer that is over.
    fn take_over(&mut self) -> Option<Event> {
        let (id, is_success) = self.over.pop_front()?;
        let at = self.transfers.iter().position(|transfer| transfer.id == id)?;
        let Transfer { buffer, len, is_fetch, .. } = self.transfers.swap_remove(at);
        let event = if is_fetch {
            let mut data = Vec::new();
            let is_there = is_success && buffer.append_to(0, len, &mut data).is_ok();
            Event::Fetched(id, is_there.then_some(data))
        } else {
            Event::Delivered(id, is_success)
        };
        if self.idle.len() < IDLE_MAX {
            self.idle.push(buffer);
        }
        Some(event)
    }
}

/// A buffer that a device can use, of so many bytes at least.
fn new_buffer<B>(len: u32, make: impl FnOnce(u32) -> Result<B, OutOfMemory>) -> Result<B, Lost> {
    let room = len.max(BUFFER_MIN).checked_next_power_of_two().unwrap_or(len);
    make(room).map_err(|error| Lost::because(format_args!("a transfer by RDMA: {error}")))
}

/// The end of a connection in the words of who looks after the server.
fn why(ending: &Ending<Error>) -> Lost {
    match ending {
        Ok(CloseReason::PeerClosed) => Lost::because("the client has left"),
        Ok(CloseReason::Lost { reason: DisconnectReason::Unknown }) => {
            Lost::because("the client has left, or its connection was lost: this device does not tell")
        }
        Ok(reason) => Lost::because(Failure::Closed(*reason)),
        Err(failure) => Lost::because(failure),
    }
}

impl super::link::Link for RdmaLink {
    fn transport(&self) -> Transport {
        Transport::Rdma { send_max: self.send_max }
    }

    fn order(&mut self, order: Order) {
        self.queue.push(order);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        // There may be room for more, once what was given is on its way.
        loop {
            let held = self.queue.held();
            self.give(cx);
            self.drive(cx);
            if self.queue.held() == held {
                break;
            }
        }
        if let Some(event) = self.take_over() {
            return Poll::Ready(Ok(event));
        }
        if let Some(lost) = self.lost.clone() {
            // Messages that came before the end are taken first, if they are wanted.
            let message = if wants_messages { self.message() } else { None };
            return Poll::Ready(message.ok_or(lost));
        }
        let under_way = self.transfers.iter().map(|transfer| transfer.began);
        let oldest = under_way.chain(self.queue.oldest_transfer()).min();
        if self.watch.poll(oldest, cx).is_ready() {
            return Poll::Ready(Err(too_long()));
        }
        let waiting = self.link.get().map_or(0, Link::waiting_bytes);
        if !wants_messages || self.queue.held().saturating_add(waiting) > WAITING_MAX {
            return Poll::Pending;
        }
        self.message().map_or(Poll::Pending, |message| Poll::Ready(Ok(message)))
    }

    fn is_transferring(&self) -> bool {
        !self.transfers.is_empty() || self.queue.oldest_transfer().is_some()
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let is_taken = self.give(cx);
            self.drive(cx);
            // What comes of transfers is told to nobody any more, but the messages behind them have to leave.
            if self.take_over().is_none() {
                return if is_taken || self.lost.is_some() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(link) = self.link.get_mut() {
            // How it ends makes no difference any more.
            link.ignore_messages();
            link.close(CLOSE_WITHIN);
        }
        self.drive(cx);
        if self.link.get().is_none_or(Link::is_over) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl fmt::Debug for RdmaLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdmaLink").field("send_max", &self.send_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_for_which_there_is_no_memory_ends_its_connection_with_that_reason() {
        let made = |len| if len == 128 << 10 { Err(OutOfMemory { len }) } else { Ok(len) };
        assert_eq!(new_buffer(1, made).unwrap(), 64 << 10);
        let said = new_buffer((64 << 10) + 1, made).unwrap_err().to_string();
        assert_eq!(said, format!("a transfer by RDMA: {}", OutOfMemory { len: 128 << 10 }));
        assert!(said.contains("memory"), "{said}");
    }
}
