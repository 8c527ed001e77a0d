//! Whole messages instead of fragments: the optional layer that owns payload.
//!
//! [`Endpoint`] wraps a [`Connection`]. It keeps the [`Bytes`] of outgoing messages until they are sent, and
//! reassembles incoming ones. A message of one fragment is delivered in its receive buffer ([`Message::Borrowed`], no
//! copy) as long as fewer than [`Params::borrowed_max`](crate::Params::borrowed_max) are borrowed. Every other message
//! is copied once ([`Message::Owned`]), and its receive buffers are free again at once. [`Endpoint::release`] takes a
//! borrowed fragment by value; `Drop` does not release it.
//!
//! An endpoint [in pieces](Endpoint::in_pieces) puts nothing together: it delivers each fragment when it arrives, so a long
//! message needs no memory of its own.
//!
//! The copies go to one buffer that is used again. It grows with the bytes that have arrived, not with those that are
//! only announced, and to MaxFragmentedRecvSize at most. Growing copies its content, so the first long messages of a
//! connection are copied more than once ([`EndpointStats::bytes_moved`]).
//!
//! Messages are delivered as they arrive. An upper layer that is too slow has to limit what it holds with its own
//! protocol (SMB2 has credits), keep borrowed messages, or hold the peer back with [`Endpoint::pause`]. If it stops polling,
//! keepalive responses stop, too.

mod chunks;
mod commands;
mod event;
mod lists;
mod outgoing;
mod pause;
mod reassembly;

use alloc::boxed::Box;

use bytes::Bytes;

pub use chunks::Chunks;
pub use commands::NotSent;
pub use event::{EndpointEvent, EndpointStats, Message};
pub use lists::Lists;

use crate::backend::{
    BackendOp, BufferLookup, Payload, Protocol, ReceiveMemory, ShortReceive, UnknownBuffer,
};
use crate::{Action, Body, Config, Connection, Event, Fragment, Input, Instant, Misuse, MsgId, Role};
use outgoing::Outgoing;
use pause::Pause;
use reassembly::Reassembly;

/// A connection that sends and receives whole messages as [`Bytes`].
///
/// Used like a [`Connection`]: [`handle`](Self::handle), commands, [`poll_action`](Self::poll_action). No method
/// blocks. The getters of the protocol are those of [`connection`](Self::connection).
#[derive(Debug)]
pub struct Endpoint {
    connection: Connection,
    outgoing: Outgoing,
    /// `None` if it delivers pieces.
    reassembly: Option<Reassembly>,
    /// Fragments that the upper layer has.
    borrowed: u16,
    stats: EndpointStats,
    /// A fragment was not where it should be: the sequence of messages has a hole, and nothing can mend it.
    hole: Option<ShortReceive>,
    /// Only from the first pause to what was kept in it.
    pause: Option<Box<Pause>>,
}

impl Endpoint {
    /// A new endpoint: of an initiator that connects (3.1.4.1), or of an acceptor for a connection request (3.1.7.2).
    /// The negotiation timer starts at `now`. Allocates [`Budget::core_bytes`](crate::Budget) for the connection.
    #[must_use]
    pub fn new(role: Role, config: &Config, now: Instant) -> Self {
        Self {
            connection: Connection::new(role, config, now),
            outgoing: Outgoing::new(config),
            reassembly: Some(Reassembly::default()),
            borrowed: 0,
            stats: EndpointStats::default(),
            hole: None,
            pause: None,
        }
    }

    /// The same endpoint, which delivers each fragment of a message when it arrives, for an upper layer that passes messages on or
    /// takes them apart. Each comes as [`Message::Borrowed`], and [`Fragment::remaining`] says how many bytes of the message follow.
    ///
    /// There is no limit of [`Params::borrowed_max`](crate::Params::borrowed_max): receive buffers that the upper layer keeps are not
    /// posted again, and the peer soon has no credit left. When the connection ends, the rest of a message may be missing.
    #[must_use]
    pub fn in_pieces(self) -> Self {
        Self { reassembly: None, ..self }
    }

    /// The connection inside.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether the phase is [`PhaseName::Drained`](crate::PhaseName::Drained): the connection is over, and nothing is
    /// outstanding.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }

    /// The time of the event that it told last, for the commands that follow from it: [`Connection::now`].
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.connection.now()
    }

    /// Counters of the endpoint. Those of the protocol are in [`Connection::stats`].
    #[must_use]
    pub const fn stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// Fragments that the upper layer has and must release.
    #[must_use]
    pub const fn borrowed(&self) -> u16 {
        self.borrowed
    }

    /// Size of the reassembly buffer in bytes; at most MaxFragmentedRecvSize.
    #[must_use]
    pub fn reassembly_capacity(&self) -> usize {
        self.reassembly.as_ref().map_or(0, Reassembly::capacity)
    }

    /// The bytes of an outgoing message; `None` after its `Sent`.
    #[must_use]
    pub fn payload(&self, msg: MsgId) -> Option<&Bytes> {
        self.outgoing.get(msg)
    }

    /// The bytes of an outgoing message that a send carries; `None` after its `Sent`.
    #[must_use]
    #[inline]
    pub fn body(&self, body: Body) -> Option<&[u8]> {
        let start = usize::try_from(body.offset).ok()?;
        let end = start.checked_add(usize::try_from(body.len).ok()?)?;
        self.outgoing.get(body.msg)?.get(start..end)
    }

    /// Handles one input, at the time `now`. Returns at once. Time never runs backwards: an earlier `now` counts as the
    /// latest one. A fault of the peer is not an error here: it ends the connection with a reason.
    ///
    /// # Errors
    /// The input is not possible: see [`Misuse`]. Nothing has changed.
    #[inline]
    pub fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.connection.handle(now, input)
    }

    /// The next action. Call it until it returns [`Action::Wait`]. Carry out each action before the next call, or post
    /// consecutive work requests together. `memory` has the received messages, whose fragments are reassembled here.
    ///
    /// # Errors
    /// A fragment is not in `memory`. All later calls fail, too, because the sequence of messages is incomplete.
    pub fn poll_action(
        &mut self,
        memory: &(impl ReceiveMemory + ?Sized),
    ) -> Result<Action<EndpointEvent>, ShortReceive> {
        if let Some(hole) = self.hole {
            return Err(hole);
        }
        loop {
            match self.poll_below().split() {
                Ok(action) => return Ok(action),
                Err(event) => {
                    if let Some(event) = self.translate(event, memory)? {
                        return Ok(Action::Notify(event));
                    }
                }
            }
        }
    }

    /// The next action of the connection but for the events that are kept.
    #[inline]
    fn poll_below(&mut self) -> Action {
        match &mut self.pause {
            None => self.connection.next_action(),
            Some(pause) => pause.poll(&mut self.connection),
        }
    }

    /// `None` for a fragment in the middle of a message. Inlined, for whoever drives mostly knows which event it is.
    #[inline(always)]
    fn translate(
        &mut self,
        event: Event,
        memory: &(impl ReceiveMemory + ?Sized),
    ) -> Result<Option<EndpointEvent>, ShortReceive> {
        Ok(Some(match event {
            Event::Data(fragment) if self.may_borrow(&fragment) => {
                if let Err(hole) = memory.fragment(&fragment) {
                    return self.fail(hole);
                }
                self.borrowed = self.borrowed.saturating_add(1);
                let messages = u64::from(fragment.is_last());
                self.stats.messages_borrowed = self.stats.messages_borrowed.saturating_add(messages);
                EndpointEvent::Message(Message::Borrowed(fragment))
            }
            Event::Data(fragment) => {
                return Ok(self.copy(fragment, memory)?.map(EndpointEvent::Message));
            }
            Event::Sent { msg, result } => {
                let payload = self.outgoing.take(msg).unwrap_or_default();
                EndpointEvent::Sent { msg, payload, result }
            }
            Event::Established(negotiated) => EndpointEvent::Established(negotiated),
            Event::ConnectFailed(error) => EndpointEvent::ConnectFailed(error),
            Event::Invalidated { id, token } => EndpointEvent::Invalidated { id, token },
            Event::RdmaDone { op, result } => EndpointEvent::RdmaDone { op, result },
            Event::Registered { id, result } => EndpointEvent::Registered { id, result },
            Event::Deregistered { id, result } => EndpointEvent::Deregistered { id, result },
            Event::Probed(result) => EndpointEvent::Probed(result),
            Event::Writable => EndpointEvent::Writable,
            Event::Closed(reason) => {
                // The rest of an unfinished message will not come.
                self.reassembly = self.reassembly.as_ref().map(|_| Reassembly::default());
                EndpointEvent::Closed(reason)
            }
            Event::Drained => EndpointEvent::Drained,
        }))
    }

    /// Whether a fragment is delivered where it lies: a piece for whoever wants pieces, or a whole message.
    #[inline]
    fn may_borrow(&self, fragment: &Fragment) -> bool {
        let single = fragment.is_first() && fragment.is_last();
        self.reassembly.is_none() || single && self.borrowed < self.connection.config().borrowed_max
    }

    #[cold]
    #[inline(never)]
    fn fail<T>(&mut self, hole: ShortReceive) -> Result<T, ShortReceive> {
        self.hole = Some(hole);
        Err(hole)
    }

    /// Puts the bytes of a fragment where its message is put together; the message if that is whole now.
    #[inline(never)]
    fn copy(
        &mut self,
        fragment: Fragment,
        memory: &(impl ReceiveMemory + ?Sized),
    ) -> Result<Option<Message>, ShortReceive> {
        let bytes = match memory.fragment(&fragment) {
            Ok(bytes) => bytes,
            Err(hole) => return self.fail(hole),
        };
        let reassembly = self.reassembly.get_or_insert_default();
        let total = bytes.len().saturating_add(usize::try_from(fragment.remaining()).unwrap_or(usize::MAX));
        let moved = reassembly.append(fragment.is_first(), bytes, total);
        self.stats.bytes_copied = self.stats.bytes_copied.saturating_add(u64::from(fragment.len()));
        self.stats.bytes_moved =
            self.stats.bytes_moved.saturating_add(u64::try_from(moved).unwrap_or(u64::MAX));
        let whole = fragment.is_last().then(|| reassembly.finish());
        let released = self.connection.release(self.now(), fragment);
        debug_assert_eq!(released, Ok(()), "a fragment that was just polled");
        let Some(whole) = whole else { return Ok(None) };
        self.stats.messages_copied = self.stats.messages_copied.saturating_add(1);
        Ok(Some(Message::Owned(whole)))
    }
}

impl Protocol for Endpoint {
    type Event = EndpointEvent;

    #[inline]
    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.handle(now, input)
    }

    #[inline(always)]
    fn handle_and_tell(&mut self, now: Instant, input: Input<'_>) -> Result<Option<Event>, Misuse> {
        // In a pause it may have to be kept, or others are before it.
        if self.pause.is_some() {
            return self.handle(now, input).map(|()| None);
        }
        self.connection.notice(now, input)
    }

    #[inline]
    fn poll_action(&mut self) -> Action {
        self.poll_below()
    }

    #[inline(always)]
    fn deliver<B: ReceiveMemory>(
        &mut self,
        event: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, EndpointEvent),
    ) -> Result<(), ShortReceive> {
        if let Some(hole) = self.hole {
            return Err(hole);
        }
        if let Some(event) = self.translate(event, backend)? {
            upper(self, backend, event);
        }
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.connection.is_drained()
    }

    #[inline(always)]
    fn backend_op<'a, M>(
        &'a self,
        action: &'a Action,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer> {
        if let Action::PostSend { id, ref head, body: Some(body), invalidate, signal, solicit } = *action {
            let bytes = self.body(body).ok_or(UnknownBuffer(id.into()))?;
            let body = Some(Payload::Copy(bytes));
            return Ok(Some(BackendOp::PostSend { id, head, body, invalidate, signal, solicit }));
        }
        BackendOp::of(action, &self.connection, memory)
    }
}
