//! A connection over a [`Transport`].

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_core::{Instant, RdmaVerb};
use smbd_link::Failure;
use smbd_link::link::{self, Ending};
use smbd_link::time::Clock;
use smbd_link::transport::{Memory, Past, Transport};
use smbd_smb2::server::{self, OperationId};

use super::pool::Pool;
use super::queue::Queue;
use super::stuck::{Watch, too_long};
use super::{Data, Event, Link, Order};

/// Transfers by RDMA that are under way at one time. The configuration of a connection has to allow so many operations.
pub const TRANSFERS_MAX: u16 = 32;
/// Bytes that may wait to be sent before no other message is taken.
const WAITING_MAX: usize = 4 << 20;

/// A connection over a transport. Transfers have buffers of its own, which are used again.
pub struct Channel<T: Transport<OperationId>, C: Clock> {
    transport: T,
    clock: C,
    /// Orders that wait for the transport.
    queue: Queue,
    transfers: Vec<Transfer<T::Memory>>,
    /// Those that are over, and whether all bytes were moved.
    over: VecDeque<(OperationId, bool)>,
    watch: Watch<C::Sleep>,
    pool: Pool<T::Memory>,
    /// Why nothing goes on.
    lost: Option<String>,
    /// The transport has told its end.
    is_over: bool,
}

struct Transfer<M> {
    id: OperationId,
    memory: Arc<M>,
    len: u32,
    is_fetch: bool,
    /// When it was ordered: time in which it waited for others counts.
    began: Instant,
}

impl<T: Transport<OperationId>, C: Clock> Channel<T, C> {
    /// Over a connection that is established.
    #[must_use]
    pub const fn new(transport: T, clock: C) -> Self {
        Self {
            transport,
            clock,
            queue: Queue::new(),
            transfers: Vec::new(),
            over: VecDeque::new(),
            watch: Watch::new(),
            pool: Pool::new(),
            lost: None,
            is_over: false,
        }
    }

    #[cfg(test)]
    pub(super) const fn script(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(event) = self.transport.poll_event(cx) {
            match event {
                link::Event::RdmaDone { name, result } => self.over.push_back((name, result.is_ok())),
                link::Event::Ended(_) => self.is_over = true,
                link::Event::Established(_)
                | link::Event::Registered { .. }
                | link::Event::Deregistered { .. }
                | link::Event::Invalidated { .. }
                | link::Event::Probed(_) => {}
            }
        }
        if self.lost.is_none() {
            self.lost = self.transport.closed().map(why);
        }
    }

    /// Gives the connection what waits, as far as it has room. Returns whether it has taken everything.
    fn give(&mut self, cx: &mut Context<'_>) -> bool {
        while self.lost.is_none() {
            let Some(is_transfer) = self.queue.first().map(Order::is_transfer) else {
                return self.transport.waiting() == 0;
            };
            let is_much = is_transfer && self.transfers.len() >= usize::from(TRANSFERS_MAX);
            if is_much || self.transport.poll_ready(cx).is_pending() {
                return false;
            }
            let Some((began, order)) = self.queue.pop() else { return true };
            if let Err(lost) = self.take(began, order) {
                self.lost.get_or_insert(lost);
            }
        }
        true
    }

    /// Gives the connection an order, which came at `began`.
    fn take(&mut self, began: Instant, order: Order) -> Result<(), String> {
        let (id, memory, len, is_fetch) = match order {
            Order::Send { message, invalidate } => {
                self.transport.send(message, invalidate);
                return Ok(());
            }
            Order::Fetch { id, buffers, len } => {
                let memory = self.pool.take(len)?;
                self.transport.rdma(id, RdmaVerb::Read, T::Memory::clone(&memory), buffers, 0, len);
                (id, memory, len, true)
            }
            Order::Deliver { id, data, len, buffers } => {
                let memory = self.pool.own(&data).map_or_else(|| self.copied(&data, len), Ok)?;
                // The answer follows.
                self.transport.write_ahead(id, T::Memory::clone(&memory), buffers, 0, len);
                (id, memory, len, false)
            }
        };
        self.transfers.push(Transfer { id, memory, len, is_fetch, began });
        Ok(())
    }

    /// Memory of this connection with these data.
    fn copied(&mut self, data: &Data, len: u32) -> Result<Arc<T::Memory>, String> {
        let memory = self.pool.take(len)?;
        let mut bytes = Vec::new();
        let read = data.append_to(0, len, &mut bytes);
        read.and_then(|()| memory.fill(0, &bytes)).map_err(|outside| outside.to_string())?;
        Ok(memory)
    }

    /// A message that has come.
    fn message(&mut self) -> Option<Event> {
        match self.transport.try_past() {
            Some(Past::Request(request)) => return Some(Event::PastRequest(request)),
            Some(Past::Response(response)) => return Some(Event::PastResponse(response)),
            None => {}
        }
        let piece = self.transport.try_recv()?;
        Some(Event::Message(piece.bytes))
    }

    /// A transfer that is over.
    fn take_over(&mut self) -> Option<Event> {
        let (id, is_success) = self.over.pop_front()?;
        let at = self.transfers.iter().position(|transfer| transfer.id == id)?;
        let Transfer { memory, len, is_fetch, .. } = self.transfers.swap_remove(at);
        Some(if is_fetch {
            let data = is_success.then_some(memory).map(|memory| -> Data { memory });
            Event::Fetched { id, data, len }
        } else {
            Event::Delivered(id, is_success)
        })
    }
}

/// The end of a connection in the words of who looks after the server.
fn why<E: std::error::Error>(ending: &Ending<E>) -> String {
    match ending {
        Ok(CloseReason::PeerClosed) => "the client has left".to_owned(),
        Ok(CloseReason::Lost { reason: DisconnectReason::Unknown }) => {
            "the client has left, or its connection was lost: this device does not tell".to_owned()
        }
        Ok(reason) => Failure::<E>::Closed(*reason).to_string(),
        Err(failure) => failure.to_string(),
    }
}

impl<T, C> Link for Channel<T, C>
where
    T: Transport<OperationId>,
    C: Clock,
{
    fn transport(&self) -> server::Transport {
        let limits = self.transport.limits();
        match limits.rdma {
            Some(_) => server::Transport::Rdma { send_max: limits.max_send },
            None => server::Transport::Tcp,
        }
    }

    fn memory(&mut self, len: u32) -> Result<Data, String> {
        Ok(self.pool.take(len)?)
    }

    fn order(&mut self, order: Order) {
        self.queue.push(self.clock.now(), order);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, String>> {
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
        if self.watch.poll(&self.clock, oldest, cx).is_ready() {
            return Poll::Ready(Err(too_long()));
        }
        let waiting = self.queue.held().saturating_add(self.transport.waiting_bytes());
        if !wants_messages || waiting > WAITING_MAX {
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

    fn poll_close(&mut self, within: Duration, cx: &mut Context<'_>) -> Poll<()> {
        // How it ends makes no difference any more.
        self.transport.ignore_messages();
        self.transport.close(within);
        self.drive(cx);
        if self.is_over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<T: Transport<OperationId>, C: Clock> fmt::Debug for Channel<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("waiting", &self.queue.held())
            .field("transfers", &self.transfers.len())
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}
