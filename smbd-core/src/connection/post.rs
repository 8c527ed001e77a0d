//! Builds what an established connection posts (3.1.5.1, 3.1.5.4, 3.1.5.9), after `next` has chosen it.
//!
//! Each function builds the action that it returns.

use super::next::Next;
use super::phase::{Cause, Phase};
use super::rdma::Slice;
use super::registration::Command;
use super::report::Report;
use super::send::{Carries, Piece};
use super::{Connection, Pending};
use crate::wire::{DATA_OFFSET, DataTransfer, Flags};
use crate::{Action, Body, Event, Fragment, Head, RdmaVerb, RecvId, SendId, Token};

impl Connection {
    /// The receives came first: the response grants them.
    #[cold]
    pub(super) fn post_response(&mut self) -> Action {
        let message = self.negotiate_response();
        self.credits.establish();
        if let Phase::Established(established) = &mut self.phase {
            established.respond = false;
        }
        match self.post_head(Head::written(|to| message.encode(to)), Carries::Control, true) {
            Some(action) => action,
            None => self.wait(),
        }
    }

    /// The next event of those that have happened.
    #[inline]
    pub(super) fn notify(&mut self) -> Action {
        // The frequent ones are built where they are returned.
        if let Some(&Pending::Data { index, offset, len, remaining, first }) = self.events.front()
            && let Some(slot) = self.receiver.slots.name(index)
        {
            self.events.pop();
            let fragment = Fragment { recv: RecvId(slot), offset, len, remaining, first };
            return Action::Notify(Event::Data(fragment));
        }
        if let Some(&Pending::Sent { msg, ok: true }) = self.events.front() {
            self.events.pop();
            return Action::Notify(Event::Sent { msg, result: Ok(()) });
        }
        self.notify_other()
    }

    #[inline(never)]
    fn notify_other(&mut self) -> Action {
        // The most frequent of the others.
        if let Some(&Pending::OpDone { index }) = self.events.front()
            && let Some((op, result)) = self.rdma.tell(index)
        {
            self.events.pop();
            return Action::Notify(Event::RdmaDone { op, result });
        }
        while let Some(pending) = self.events.pop() {
            if let Some(event) = self.event(pending) {
                return Action::Notify(event);
            }
        }
        // Both flags are cleared; one event is enough.
        let writable = self.sender.take_writable() | self.rdma.take_writable();
        if writable { Action::Notify(Event::Writable) } else { self.poll_action() }
    }

    #[inline(never)]
    pub(super) fn post_receive(&mut self) -> Action {
        let Some(id) = self.receiver.post() else { return self.wait() };
        self.credits.on_posted();
        Action::PostRecv { id, len: self.receiver.max_receive_size }
    }

    /// The receive beyond the window (CR-5, CR-17).
    #[inline(never)]
    pub(super) fn post_reserve(&mut self) -> Action {
        let Some(id) = self.receiver.post() else { return self.wait() };
        self.credits.on_reserve_posted();
        Action::PostRecv { id, len: self.receiver.max_receive_size }
    }

    #[inline(never)]
    pub(super) fn post_fragment(&mut self) -> Action {
        let Some(piece) = self.sender.cut() else { return self.wait() };
        let Some(id) = self.sender.post(piece.carries()) else { return self.wait() };
        let Piece { body, remaining, invalidate, fragmented, report } = piece;
        let head = self.data_header(remaining, Some(body));
        let sent = &mut self.stats.sent;
        sent.bytes = sent.bytes.wrapping_add(u64::from(body.len));
        sent.fragments = sent.fragments.wrapping_add(u64::from(fragmented));
        let invalidate = invalidate.and_then(|token| self.allowed_invalidation(token));
        let solicit = self.config.solicit && remaining == 0;
        let more = self.sends_more();
        let signal = self.wants_signal(report, more);
        if more {
            self.plan_run();
        }
        Action::PostSend { id, head, body: Some(body), invalidate, signal, solicit }
    }

    /// How many fragments may follow for which all decisions would be the same: enough credits not to touch the last
    /// (CR-4), enough places not to be short of them. Whatever happens in between ends the run.
    #[inline(never)]
    fn plan_run(&mut self) {
        // Room that somebody waits for is told first.
        if self.sender.is_writable() || !self.has_only_messages() {
            return;
        }
        let by_credits = self.credits.send().saturating_sub(2);
        let by_places = self.queue_room().saturating_sub(u32::from(self.limits.send_queue.div_ceil(4)));
        self.sender.plan_run(by_credits.min(by_places));
    }

    /// Whether a message is what a decision would give: a plan holds as long as nothing happens.
    #[inline]
    pub(super) fn is_planned(&self) -> bool {
        matches!(&self.phase, Phase::Established(established) if self.next(established) == Next::Fragment)
    }

    /// A fragment that differs from the one before only in what it carries: it grants and asks nothing, and is not the last for now.
    #[inline(never)]
    pub(super) fn post_in_run(&mut self) -> Action {
        debug_assert!(
            self.is_planned() && !self.wants_answer() && !self.answer_owed && self.credits.ungranted() == 0,
            "something happened that did not end the run"
        );
        match self.sender.post_middle() {
            Some((id, body, remaining)) => self.posted_in_run(id, body, remaining, false),
            None => self.post_edge(),
        }
    }

    /// The same where a message begins or ends.
    #[inline(never)]
    fn post_edge(&mut self) -> Action {
        let Some((id, Piece { body, remaining, .. })) = self.sender.post_edge() else {
            // It is a message all the same.
            self.sender.decide_again();
            return self.post_fragment();
        };
        let solicit = self.config.solicit && remaining == 0;
        self.posted_in_run(id, body, remaining, solicit)
    }

    #[inline]
    fn posted_in_run(&mut self, id: SendId, body: Body, remaining: u32, solicit: bool) -> Action {
        self.credits.spend();
        let sent = &mut self.stats.sent;
        sent.messages = sent.messages.wrapping_add(1);
        sent.bytes = sent.bytes.wrapping_add(u64::from(body.len));
        sent.fragments = sent.fragments.wrapping_add(u64::from(remaining > 0 || body.offset > 0));
        let head = self.head(0, Flags::NONE, remaining, Some(body));
        Action::PostSend { id, head, body: Some(body), invalidate: None, signal: false, solicit }
    }

    #[inline(never)]
    pub(super) fn post_empty(&mut self) -> Action {
        let Some(id) = self.sender.post(Carries::Control) else { return self.wait() };
        let head = self.data_header(0, None);
        self.stats.sent.empties = self.stats.sent.empties.wrapping_add(1);
        let signal = self.wants_signal(Report::Prompt, self.sends_more());
        Action::PostSend { id, head, body: None, invalidate: None, signal, solicit: false }
    }

    /// 3.1.5.1: the header of the message leaving now, with all that can be granted now.
    fn data_header(&mut self, remaining_data_length: u32, body: Option<Body>) -> Head {
        let credits_granted = self.credits.spend_and_grant();
        self.answer_owed = false;
        let sent = &mut self.stats.sent;
        sent.messages = sent.messages.wrapping_add(1);
        sent.credits = sent.credits.wrapping_add(u64::from(credits_granted));
        let mut flags = Flags::NONE;
        if self.wants_answer() {
            flags = Flags::RESPONSE_REQUESTED;
            self.stats.sent.keepalives = self.stats.sent.keepalives.wrapping_add(1);
            self.idle.on_flag_sent();
            self.probe.on_flag_sent(self.now);
        }
        self.head(credits_granted, flags, remaining_data_length, body)
    }

    #[inline]
    fn head(
        &self,
        credits_granted: u16,
        flags: Flags,
        remaining_data_length: u32,
        body: Option<Body>,
    ) -> Head {
        let (data_offset, data_length) = body.map_or((0, 0), |body| (DATA_OFFSET, body.len));
        let message = DataTransfer {
            credits_requested: self.config.send_credit_target,
            credits_granted,
            flags,
            remaining_data_length,
            data_offset,
            data_length,
        };
        Head::written(|to| message.encode(to))
    }

    fn allowed_invalidation(&mut self, token: Token) -> Option<Token> {
        let allowed = self.limits.send_with_invalidate;
        let count =
            if allowed { &mut self.stats.sent.invalidations } else { &mut self.stats.invalidations_dropped };
        *count = count.wrapping_add(1);
        allowed.then_some(token)
    }

    /// Whether another message may leave behind the one that leaves now.
    fn sends_more(&self) -> bool {
        // A message of which a fragment has left is still the first. The last credit may have to wait for a receive (CR-4).
        self.credits.send() > 1 && self.sender.is_ready(self.rdma.writes_posted())
    }

    /// A completion is asked for with the last send for now, and before the queue runs short of places.
    fn wants_signal(&mut self, report: Report, more: bool) -> bool {
        let signal = self.sender.wants_signal(report, !more) || self.is_short_of_places();
        if signal {
            self.sender.on_signal();
        }
        signal
    }

    fn is_short_of_places(&self) -> bool {
        // Both are of 16 bits.
        let short = self.queue_room().wrapping_mul(4) < u32::from(self.limits.send_queue);
        short || self.sender.in_flight.is_full()
    }

    #[inline(never)]
    pub(super) fn post_shared(&mut self) -> Action {
        let next = self.next_shared();
        self.carry_out(next)
    }

    #[inline(never)]
    pub(super) fn post_rdma(&mut self, verb: RdmaVerb) -> Action {
        let Some(slice) = self.rdma.post(verb, &self.limits, self.shares_queue) else { return self.wait() };
        let count = match verb {
            RdmaVerb::Read => &mut self.stats.rdma_reads,
            RdmaVerb::Write => &mut self.stats.rdma_writes,
        };
        *count = count.wrapping_add(1);
        let Slice { id, op, local_offset, remote, signal } = slice;
        self.stats.rdma_bytes = self.stats.rdma_bytes.wrapping_add(u64::from(remote.length));
        Action::PostRdma { id, op, verb, local_offset, remote, signal }
    }

    #[inline(never)]
    pub(super) fn post_registration(&mut self) -> Action {
        let room = self.queue_room().saturating_sub(1);
        match self.registrations.next(self.limits.registration_requests, room) {
            Some(Command::Register { id, access, segments_max }) => {
                Action::Register { id, access, segments_max }
            }
            Some(Command::Deregister { id }) => Action::Deregister { id },
            None => self.finish(),
        }
    }

    /// Nothing can leave: has all been finished that a closing connection waits for?
    #[cold]
    pub(super) fn finish(&mut self) -> Action {
        let next = if self.is_flushing() { self.next_at_end() } else { Next::Wait };
        if next == Next::Finish {
            self.end(Cause::Local);
            return self.poll_action();
        }
        self.carry_out(next)
    }
}
