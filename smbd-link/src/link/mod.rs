//! A connection with its backend, driven by the task that uses it.
//!
//! ```text
//! send, rdma, register, deregister, probe, close                          poll_event, poll_recv, poll_ready
//!   | orders, in turn; what finds no room waits                            ^ events and messages, until they are asked for
//! Link: an Endpoint and a backend that is PollReady
//! ```
//!
//! A link makes progress when it is polled, and only then: there is no other task, no channel and no lock on its way. The backend is
//! looked at when it has woken the task, or when something was asked for.
//!
//! # Limits
//!
//! **Receiving.** Received messages wait until there are [`Options::messages_max`] messages or [`Options::bytes_max`] bytes. Then the
//! endpoint is [paused](smbd_core::Endpoint::pause): messages stay in their receive buffers, no receive is posted again, and soon the
//! peer has no credit left. So at most `bytes_max` bytes and one message of
//! [`Params::max_fragmented_recv_size`](smbd_core::Params::max_fragmented_recv_size) bytes wait. A message is never refused because of
//! `bytes_max`. When the connection ends, the messages in the receive buffers wait in addition.
//!
//! Credits are the only flow control of SMB Direct, and messages carry them. So two sides that have both paused cannot grant each other
//! credits any more. Therefore, while messages wait to be sent and neither side has a credit to spare, messages are received one by one
//! beyond the limits, up to twice the limits (at least 1024 messages or 1 MiB). That is enough for a program that answers each message. If
//! a program only sends and never receives, the side that waits too long for a credit ends the connection (5 s in Windows, 3.1.5.1).
//!
//! **Sending.** Orders are always taken. [`Link::poll_ready`] says when more should be given.

mod alarm;
mod establish;
mod event;
mod inbox;
mod orders;
mod rest;
mod stepwise;
#[cfg(test)]
mod tests;
mod turn;
mod upper;

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::Backend;
use smbd_core::error::{CommandError, RdmaError, RegisterError};
use smbd_core::{Access, BufferDescriptorV1, Close, Endpoint, Instant, RdmaVerb, Token};

use crate::{Failure, Messages, PollReady};
use alarm::Alarm;
pub use establish::Owned;
pub use event::{Ending, Event, Piece, why};
pub(crate) use inbox::Inbox;
pub use inbox::Options;
use orders::{Order, Orders, Transfer};
pub use rest::Rest;
pub(crate) use turn::Turn;
use upper::Upper;

/// One buffer is one region or one window.
const SEGMENTS: u16 = 1;
/// Bytes of messages that may wait to be sent before no more should be given.
const WAITING_MAX: usize = 1 << 20;
/// Orders that may wait for room in the endpoint before no more should be given.
const ORDERS_MAX: usize = 64;

type FailureOf<B> = Failure<<B as PollReady>::Error>;

/// A connection over a backend, driven by whoever polls it. The owner names its RDMA operations and registrations with values of type `N`,
/// as the `wr_id` of verbs: events repeat them.
///
/// Dropping it ends the connection at once; [`into_rest`](Self::into_rest) ends it in order.
///
/// `E` is the error of the backend.
pub struct Link<B: Backend, N, C: Messages = Endpoint, E = <B as PollReady>::Error> {
    machine: C,
    backend: B,
    upper: Upper<B::Buffer, N, E>,
    orders: Orders<B::Buffer, N>,
    alarm: Alarm,
    /// Something was asked for that the machine has not done yet.
    is_asked: bool,
    closing: Closing,
    /// It is over: nothing can be done with it any more.
    ending: Option<Ending<E>>,
    /// The ending was told as an event.
    is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    /// Within this time.
    Wanted(Duration),
    /// It begins when the endpoint has all orders, or at this time.
    Asked(Instant),
    /// The endpoint is closing.
    Told,
}

impl<B: PollReady, N: Copy + PartialEq, C: Messages> Link<B, N, C> {
    /// A link over a new backend, with a new machine: an [`Endpoint`], or a wrapper of one. The first poll begins to connect.
    #[must_use]
    pub fn new(machine: C, backend: B, options: Options) -> Self {
        Self::of_turns(machine, backend, options)
    }

    /// Gives the connection up: a future that ends it at once, and is ready when its backend can be dropped.
    pub fn into_rest(self) -> Rest<B, N, C> {
        Rest::new(self)
    }

    /// Drives the connection. Returns the next event. Messages are not among them: they wait for [`poll_recv`](Self::poll_recv).
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, <B as PollReady>::Error>> {
        self.drive(cx);
        if let Some(event) = self.upper.events.pop_front() {
            return Poll::Ready(event);
        }
        match &self.ending {
            Some(ending) if !self.is_told => {
                self.is_told = true;
                Poll::Ready(Event::Ended(ending.clone()))
            }
            _ => Poll::Pending,
        }
    }

    /// Drives the connection. Returns the next message, or piece of one; `None` if the connection has ended and there is no other. Events
    /// that came before it may still wait for [`poll_event`](Self::poll_event).
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.drive(cx);
        match self.try_recv() {
            Some(piece) => Poll::Ready(Some(piece)),
            None if self.closed().is_some() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Ready when little waits to be sent, so that more may be ordered. Also ready when the connection has ended. Drives the connection
    /// only if much waits: orders that come together go to the device together.
    pub fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_full() {
            self.drive(cx);
        }
        if self.is_full() { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<B: Backend, N: Copy + PartialEq, C: Messages, E> Link<B, N, C, E> {
    /// The driven machine.
    #[must_use]
    pub const fn machine(&self) -> &C {
        &self.machine
    }

    /// The backend.
    #[must_use]
    pub const fn backend(&self) -> &B {
        &self.backend
    }

    /// How the connection has ended; `None` if it has not. It may not be drained yet: [`Event::Ended`] says that.
    #[must_use]
    pub fn closed(&self) -> Option<&Ending<E>> {
        self.ending.as_ref().or(self.upper.closed.as_ref())
    }

    /// How the connection has ended, once it is drained, or cannot be driven any more: only its backend is left.
    #[must_use]
    pub const fn over(&self) -> Option<&Ending<E>> {
        self.ending.as_ref()
    }

    /// Whether the connection is [over](Self::over).
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.ending.is_some()
    }

    /// Orders that wait for room in the endpoint.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.orders.len()
    }

    /// Bytes of the messages among them.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.orders.bytes()
    }

    /// Messages that the endpoint has taken since the beginning, and of those the ones that were sent. A message that was sent
    /// [unsignalled](Self::send_unsignalled) may count as sent late.
    #[must_use]
    pub const fn messages(&self) -> (u64, u64) {
        (self.upper.queued, self.upper.sent)
    }

    /// What the owner keeps of the messages that it has taken: it counts against the limits.
    pub fn keep(&mut self, messages: usize, bytes: usize) {
        self.upper.inbox.keep(messages, bytes);
        self.is_asked |= self.may_resume();
    }

    /// Takes no message any more, and drops those that wait.
    pub fn ignore_messages(&mut self) {
        if !self.upper.inbox.is_deaf() {
            self.upper.inbox.ignore();
            self.is_asked = true;
        }
    }

    /// Sends a message of 1 to `max_fragmented_send_size` bytes (3.1.4.2), behind all earlier orders. Its last fragment invalidates the
    /// peer's token `invalidate`, if the transport can do that.
    ///
    /// A message that the endpoint refuses, because it is empty or too long, ends the connection.
    pub fn send(&mut self, payload: Bytes, invalidate: Option<Token>) {
        self.order(Order::Send { payload, invalidate, is_signalled: true });
    }

    /// Sends a message like [`send`](Self::send), of which nobody asks when it was sent: the peer's answer says so.
    pub fn send_unsignalled(&mut self, payload: Bytes, invalidate: Option<Token>) {
        self.order(Order::Send { payload, invalidate, is_signalled: false });
    }

    /// Transfers `len` bytes between the beginning of `buffer` and byte `offset` of the peer's buffer that `remote` describes (3.1.4.5,
    /// 3.1.4.6), behind all earlier orders. Ends with [`Event::RdmaDone`]. The link keeps a clone of the buffer until then.
    pub fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        buffer: B::Buffer,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.order(Order::Rdma(Transfer { name, verb, buffer, remote, offset, len, is_signalled: true }));
    }

    /// Writes like [`rdma`](Self::rdma), ahead of a message that says to the peer that the data are there. [`Event::RdmaDone`] comes with the
    /// completion of that message at the latest, so the device reports one completion for both.
    pub fn write_ahead(
        &mut self,
        name: N,
        buffer: B::Buffer,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        let verb = RdmaVerb::Write;
        self.order(Order::Rdma(Transfer { name, verb, buffer, remote, offset, len, is_signalled: false }));
    }

    fn order(&mut self, order: Order<B::Buffer, N>) {
        self.is_asked = true;
        if self.is_open() {
            self.orders.push(order);
        } else {
            self.refuse(order);
        }
    }

    /// Whether orders are taken.
    pub(crate) fn is_open(&self) -> bool {
        self.closing == Closing::No && self.closed().is_none()
    }

    /// An order comes too late.
    fn refuse(&mut self, order: Order<B::Buffer, N>) {
        // That a message does not arrive is said by the end of the connection.
        if let Order::Rdma(Transfer { name, .. }) = order {
            self.upper.rdma_done(name, Err(RdmaError::Command(CommandError::Closing).into()));
        }
    }

    /// Gives the peer access to all of `buffer` (3.1.4.3). Ends with [`Event::Registered`]. The link keeps the buffer until the
    /// registration has ended.
    pub fn register(&mut self, name: N, buffer: B::Buffer, access: Access) {
        self.is_asked = true;
        if self.is_over() {
            let error = RegisterError::Command(CommandError::Closing);
            return self.upper.events.push_back(Event::Registered { name, result: Err(error.into()) });
        }
        match self.machine.register(self.backend.now(), access, SEGMENTS) {
            Ok(id) => self.upper.asked(id, name, buffer),
            Err(error) => {
                self.upper.events.push_back(Event::Registered { name, result: Err(error.into()) });
            }
        }
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Ends with [`Event::Deregistered`].
    pub fn deregister(&mut self, name: N) {
        self.is_asked = true;
        let refused = match self.upper.registered(name) {
            None => RegisterError::NotRegistered,
            Some(id) => match self.machine.deregister(self.backend.now(), id) {
                Ok(()) => return self.upper.leaving(id),
                Err(error) => error,
            },
        };
        self.upper.events.push_back(Event::Deregistered { name, result: Err(refused.into()) });
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3). Ends with [`Event::Probed`].
    ///
    /// # Errors
    /// Another probe is not finished, or the connection is closing.
    pub fn probe(&mut self) -> Result<(), CommandError> {
        if self.is_over() {
            return Err(CommandError::Closing);
        }
        self.is_asked = true;
        self.machine.probe(self.backend.now())?;
        self.upper.is_probing = true;
        Ok(())
    }

    /// Ends the connection when all earlier orders are finished, or after this time. Later orders are refused. The first call counts.
    pub fn close(&mut self, within: Duration) {
        if self.closing == Closing::No {
            self.closing = Closing::Wanted(within);
            self.is_asked = true;
        }
    }

    /// Ends the connection at once, also one that is closing. Orders that wait are lost.
    pub fn abort(&mut self) {
        if self.is_over() {
            return;
        }
        self.drop_orders();
        self.closing = Closing::Told;
        let now = self.backend.now();
        self.machine.close(now, Close::Abort);
        self.is_asked = true;
    }

    /// Takes no longer what waits for room in the endpoint: messages are lost, operations have failed.
    pub fn drop_orders(&mut self) {
        while let Some(order) = self.orders.pop() {
            self.refuse(order);
        }
    }

    /// The backend of a connection that [is over](Self::is_over), or that ends here.
    pub fn into_backend(self) -> B {
        self.backend
    }

    /// Returns the next message that is here, or piece of one. Does not drive the connection: after [`poll_event`](Self::poll_event) was
    /// `Pending`, all events that came before the message were returned.
    pub fn try_recv(&mut self) -> Option<Piece> {
        let piece = self.upper.inbox.pop()?;
        self.is_asked |= self.may_resume();
        Some(piece)
    }

    fn is_full(&self) -> bool {
        let is_much = self.orders.bytes() >= WAITING_MAX || self.orders.len() >= ORDERS_MAX;
        is_much && self.closed().is_none()
    }

    /// Whether messages wait for [`poll_recv`](Self::poll_recv).
    #[must_use]
    pub fn has_messages(&self) -> bool {
        !self.upper.inbox.is_empty()
    }
}

impl<B: Backend, N, C: Messages, E> fmt::Debug for Link<B, N, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("phase", &self.machine.endpoint().connection().phase())
            .field("waiting", &self.orders.len())
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
