//! Data transfer: what leaves next (3.1.5.1, 3.1.5.4, 3.1.5.9), and what a message does (3.1.5.8).

use super::negotiate::short;
use super::phase::{Cause, Established, Phase};
use super::registration::Command;
use super::send::{Carries, Piece};
use super::{Connection, Pending};
use crate::error::Violation;
use crate::wire::{DATA_OFFSET, DataTransfer, Flags};
use crate::{Action, Body, Head, RdmaVerb, RecvId, Token};

impl Connection {
    /// The order is part of the contract: the acceptor's response, events, receives, sends, RDMA, registrations.
    pub(super) fn poll_established(&mut self) -> Option<Action> {
        let Phase::Established(Established { respond, announce_by, flush }) = self.phase else { return None };
        if respond {
            return self.poll_response();
        }
        if announce_by.is_none()
            && let Some(event) = self.poll_event()
        {
            return Some(Action::Notify(event));
        }
        // Law 5: receives before the send that grants them.
        if self.credits.wants_receive()
            && let Some(id) = self.receiver.post()
        {
            return Some(self.post_receive(id));
        }
        if let Some(action) = self.poll_send() {
            return Some(action);
        }
        if announce_by.is_some() {
            return None;
        }
        self.poll_rdma().or_else(|| self.poll_registration()).or_else(|| {
            // Nothing can leave: has all been finished that a closing connection waits for?
            if flush.is_some() && self.is_flushed() {
                self.end(Cause::Local);
                return self.poll_closing();
            }
            None
        })
    }

    /// The receives come first: the response grants them.
    fn poll_response(&mut self) -> Option<Action> {
        if self.credits.wants_receive()
            && let Some(id) = self.receiver.post()
        {
            return Some(self.post_receive(id));
        }
        let message = self.negotiate_response();
        self.credits.establish();
        if let Phase::Established(established) = &mut self.phase {
            established.respond = false;
        }
        self.post_head(Head::written(|to| message.encode(to)), Carries::Control, true)
    }

    fn post_receive(&mut self, id: RecvId) -> Action {
        self.credits.on_posted();
        Action::PostRecv { id, len: self.receiver.max_receive_size }
    }

    fn poll_send(&mut self) -> Option<Action> {
        if self.credits.send() == 0 || self.queue_room() == 0 || self.sender.in_flight.is_full() {
            return None;
        }
        let message_ready = self.sender.is_ready(self.rdma.writes_posted());
        // RA-4: an empty message never interrupts a sequence. It may overtake a message that waits for RDMA Writes.
        if !message_ready && (self.sender.is_sequence_open() || !self.wants_empty()) {
            return None;
        }
        if self.credits.needs_reserve() {
            if !self.credits.allows_reserve() {
                return None;
            }
            // None free: the upper layer has them; releasing one brings us back here (CR-9).
            let id = self.receiver.post()?;
            return Some(self.post_receive(id));
        }
        if message_ready { self.post_fragment() } else { self.post_empty() }
    }

    /// Whether a message is due although the upper layer has none.
    fn wants_empty(&self) -> bool {
        self.answer_owed || self.wants_answer() || self.credits.owes_grant()
    }

    /// Whether the peer is to be asked for a message.
    fn wants_answer(&self) -> bool {
        self.idle.is_pending() || self.probe.is_pending()
    }

    fn post_fragment(&mut self) -> Option<Action> {
        let Piece { body, remaining, invalidate, fragmented } = self.sender.cut()?;
        let carries = if remaining == 0 { Carries::Last(body.msg) } else { Carries::Fragment };
        let head = self.data_header(remaining, Some(body));
        let sent = &mut self.stats.sent;
        sent.bytes = sent.bytes.wrapping_add(u64::from(body.len));
        sent.fragments = sent.fragments.wrapping_add(u64::from(fragmented));
        let invalidate = invalidate.and_then(|token| self.allowed_invalidation(token));
        let solicit = self.config.solicit && remaining == 0;
        let id = self.sender.post(carries)?;
        let signal = self.wants_signal();
        Some(Action::PostSend { id, head, body: Some(body), invalidate, signal, solicit })
    }

    fn post_empty(&mut self) -> Option<Action> {
        let head = self.data_header(0, None);
        self.stats.sent.empties = self.stats.sent.empties.wrapping_add(1);
        let id = self.sender.post(Carries::Control)?;
        let signal = self.wants_signal();
        Some(Action::PostSend { id, head, body: None, invalidate: None, signal, solicit: false })
    }

    /// 3.1.5.1: the header of the message leaving now, with all that can be granted now.
    fn data_header(&mut self, remaining_data_length: u32, body: Option<Body>) -> Head {
        let credits_granted = self.credits.grant();
        self.credits.spend();
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

    /// A completion is asked for with the last send for now, and before the queue runs short of places.
    fn wants_signal(&mut self) -> bool {
        // The last credit may have to wait for a receive (CR-4).
        let last_for_now = self.credits.send() <= 1 || !self.sender.is_ready(self.rdma.writes_posted());
        let short = self.queue_room().saturating_mul(4) < u32::from(self.limits.send_queue);
        let table_full = self.sender.in_flight.is_full();
        self.sender.signal(last_for_now, short || table_full)
    }

    /// One place of the send queue is left for a send.
    fn poll_rdma(&mut self) -> Option<Action> {
        if self.queue_room() < 2 {
            return None;
        }
        let slice = self.rdma.post(self.limits.read_depth, self.limits.rdma_len_max)?;
        let count = match slice.verb {
            RdmaVerb::Read => &mut self.stats.rdma_reads,
            RdmaVerb::Write => &mut self.stats.rdma_writes,
        };
        *count = count.wrapping_add(1);
        self.stats.rdma_bytes = self.stats.rdma_bytes.wrapping_add(u64::from(slice.remote.length));
        let super::rdma::Slice { id, op, verb, local_offset, remote } = slice;
        Some(Action::PostRdma { id, op, verb, local_offset, remote })
    }

    fn poll_registration(&mut self) -> Option<Action> {
        let room = self.queue_room().saturating_sub(1);
        Some(match self.registrations.next(self.limits.registration_requests, room)? {
            Command::Register { id, access, segments_max } => Action::Register { id, access, segments_max },
            Command::Deregister { id } => Action::Deregister { id },
        })
    }

    /// 3.1.5.8, in the order of CR-8: everything is checked before anything is done about it (KA-6).
    pub(super) fn on_data(&mut self, id: RecvId, head: &Head, len: u32, invalidated: Option<Token>) {
        let Ok(header) = DataTransfer::parse(head.as_bytes()) else {
            return self.reject(id, short(DataTransfer::LEN, head, "3.1.5.8"));
        };
        if let Err(violation) = self.receiver.check(&header, len) {
            return self.reject(id, violation);
        }
        if !self.receiver.is_usual(&header, len)
            && let Err(violation) = self.receiver.tolerate(&header, len, &mut self.stats.tolerances)
        {
            return self.reject(id, violation);
        }
        if let Err(violation) = self.credits.on_message(header.credits_requested, header.credits_granted) {
            return self.reject(id, violation);
        }
        if header.credits_granted > 0 {
            // The wait for a credit is over, whoever polls when.
            self.stall = None;
        }
        if let Some(token) = invalidated
            && let Err(violation) = self.on_invalidated(token)
        {
            return self.reject(id, violation);
        }
        self.on_life(&header);
        let DataTransfer { data_offset, data_length, remaining_data_length: remaining, .. } = header;
        let first = self.receiver.advance(data_length, remaining);
        if data_length == 0 {
            self.stats.received.empties = self.stats.received.empties.wrapping_add(1);
            return self.receiver.retire(id.0);
        }
        let received = &mut self.stats.received;
        received.bytes = received.bytes.wrapping_add(u64::from(data_length));
        received.fragments = received.fragments.wrapping_add(u64::from(!first || remaining > 0));
        self.receiver.lend(id.0);
        // DataOffset is a multiple of 8 and MaxReceiveSize at most 8 * 65,535.
        let units = u16::try_from(data_offset / 8).unwrap_or(u16::MAX);
        self.push_event(Pending::Data { index: id.slot(), units, len: data_length, remaining, first });
    }

    /// What any valid message does: it is a sign of life, and may ask for one.
    fn on_life(&mut self, header: &DataTransfer) {
        self.idle.restart(self.now);
        if self.probe.on_receipt(self.now) {
            self.push_event(Pending::Probed);
        }
        let received = &mut self.stats.received;
        received.messages = received.messages.wrapping_add(1);
        received.credits = received.credits.wrapping_add(u64::from(header.credits_granted));
        if header.flags.contains(Flags::RESPONSE_REQUESTED) {
            received.keepalives = received.keepalives.wrapping_add(1);
            self.answer_owed = true;
        }
    }

    fn on_invalidated(&mut self, token: Token) -> Result<(), Violation> {
        let index = self.registrations.invalidate(token).ok_or(Violation::ForeignInvalidation { token })?;
        self.stats.received.invalidations = self.stats.received.invalidations.wrapping_add(1);
        self.push_event(Pending::Invalidated { index, token });
        Ok(())
    }

    fn reject(&mut self, id: RecvId, violation: Violation) {
        self.receiver.retire(id.0);
        self.end(Cause::Violation(violation));
    }
}
