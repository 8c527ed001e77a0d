//! What an established connection does next: a decision that changes nothing. `post` carries it out.

use super::Connection;
use super::phase::Established;
use crate::RdmaVerb;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The acceptor's Negotiate Response.
    Response,
    Event,
    Receive,
    /// The receive beyond the window.
    Reserve,
    /// A message with data.
    Fragment,
    /// A message without.
    Empty,
    /// Messages are not all there is: `next_shared` decides.
    Shared,
    Rdma(RdmaVerb),
    /// A registration or deregistration, if its work requests fit.
    Registration,
    /// The connection is closing in good order; it ends if all has been finished that it waits for.
    Finish,
    Wait,
    /// As `Wait`, and nothing waits for a place in the send queue.
    Idle,
}

impl Connection {
    /// The order is part of the contract: events, receives, sends, RDMA, registrations, and before it waits the reserve.
    #[inline]
    pub(super) fn next(&self, established: &Established) -> Next {
        if self.has_event() {
            return Next::Event;
        }
        // Law 5: receives before the send that grants them.
        if self.wants_receive() {
            return Next::Receive;
        }
        if !self.has_only_messages() {
            return Next::Shared;
        }
        let at_end = established.flush.is_some();
        let otherwise = if at_end { Next::Finish } else { Next::Wait };
        if !self.has_place() {
            return otherwise;
        }
        match self.next_message() {
            Some(message) => self.with_reserve(message).unwrap_or(otherwise),
            None if at_end => Next::Finish,
            None => Next::Idle,
        }
    }

    /// What gets the next place of a send queue that messages share with RDMA requests and window binds.
    pub(super) fn next_shared(&self) -> Next {
        if let Some(next) = self.next_in_short_queue() {
            return next;
        }
        if let Some(next) = self.next_send() {
            return next;
        }
        // One place of the send queue is left for a send.
        if let Some(verb) = self.rdma.next(self.limits.read_depth)
            && self.queue_room() >= 2
        {
            return Next::Rdma(verb);
        }
        // If none of the commands fits, that finds it out.
        if self.registrations.has_command() { Next::Registration } else { Next::Finish }
    }

    /// The same while the upper layer does not know of the connection: nothing is told, and there are no commands. The
    /// acceptor's response comes first, but for the receives it grants.
    pub(super) fn next_unannounced(&self, established: &Established) -> Next {
        if self.wants_receive() {
            return Next::Receive;
        }
        if established.respond {
            return Next::Response;
        }
        self.next_send().unwrap_or(Next::Wait)
    }

    #[inline]
    fn wants_receive(&self) -> bool {
        self.credits.wants_receive() && !self.receiver.slots.is_full()
    }

    #[inline]
    pub(super) fn has_event(&self) -> bool {
        !self.events.is_empty() || self.sender.is_writable() || self.rdma.is_writable()
    }

    /// Whether there is nothing that a stream of messages could keep out of the send queue.
    #[inline]
    pub(super) const fn has_only_messages(&self) -> bool {
        self.rdma.is_idle() && !self.registrations.has_command()
    }

    /// A queue shorter than what the configuration reserves is shared: a stream of messages would take every place that
    /// falls free, and keep all else out for ever.
    fn next_in_short_queue(&self) -> Option<Next> {
        // All places it needs and one for a send have to be free; nothing else takes one until they are.
        if self
            .registrations
            .places_wanted(self.limits.registration_requests)
            .is_some_and(|wanted| wanted > 0)
        {
            return Some(Next::Registration);
        }
        // The last two places are for one RDMA request and one send.
        let verb = self.rdma.next(self.limits.read_depth).filter(|_| self.rdma.in_flight() == 0)?;
        match self.queue_room() {
            0 | 1 => Some(Next::Wait),
            2 => Some(Next::Rdma(verb)),
            _ => None,
        }
    }

    /// A message, if one is due and may leave.
    #[inline]
    fn next_send(&self) -> Option<Next> {
        if !self.has_place() {
            return None;
        }
        self.with_reserve(self.next_message()?)
    }

    /// A message that is due.
    #[inline]
    fn next_message(&self) -> Option<Next> {
        // RA-4: an empty message never interrupts a sequence, for what has begun to leave is ready until it has left. It may
        // overtake a message that waits for RDMA Writes.
        if self.sender.is_ready(self.rdma.writes_posted()) {
            Some(Next::Fragment)
        } else {
            self.wants_empty().then_some(Next::Empty)
        }
    }

    /// A message may leave that has a place, or first the receive that the last credit has to grant (CR-4).
    #[inline]
    fn with_reserve(&self, message: Next) -> Option<Next> {
        if self.credits.needs_reserve() {
            // None free: the upper layer has them; releasing one brings us back here (CR-9).
            return if self.receiver.slots.is_full() { None } else { Some(Next::Reserve) };
        }
        Some(message)
    }

    /// Places of the send queue in use.
    pub(super) fn queue_used(&self) -> u32 {
        // Nothing is posted without a place: no sum is above the send queue's 16 bits.
        u32::from(self.sender.in_flight.used())
            .wrapping_add(u32::from(self.rdma.in_flight()))
            .wrapping_add(self.registrations.requests())
    }

    /// Places of the send queue left.
    pub(super) fn queue_room(&self) -> u32 {
        u32::from(self.limits.send_queue).saturating_sub(self.queue_used())
    }

    #[inline]
    fn has_place(&self) -> bool {
        self.credits.send() > 0 && self.queue_room() > 0 && !self.sender.in_flight.is_full()
    }

    /// What ends a connection closing in good order, when no message is due: the completion of an empty one is that of all
    /// sends before it of which none was asked for.
    pub(super) fn next_at_end(&self) -> Next {
        if self.is_flushed() {
            return Next::Finish;
        }
        // A send that is in flight may be behind the silent request, and completes it.
        let idle = self.sender.is_empty() && self.sender.in_flight.is_empty();
        let is_silent = self.sender.is_silent() || idle && self.rdma.is_silent();
        let message = (is_silent && self.has_place()).then_some(Next::Empty);
        message.and_then(|message| self.with_reserve(message)).unwrap_or(Next::Wait)
    }

    /// Whether a message is due although the upper layer has none.
    fn wants_empty(&self) -> bool {
        self.answer_owed || self.wants_answer() || self.credits.owes_grant()
    }

    /// Whether the peer is to be asked for a message.
    pub(super) const fn wants_answer(&self) -> bool {
        self.idle.is_pending() || self.probe.is_pending()
    }
}
