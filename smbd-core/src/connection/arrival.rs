//! What a Data Transfer message of the peer does (3.1.5.8).

use super::negotiate::short;
use super::phase::Cause;
use super::{Connection, Pending};
use crate::error::Violation;
use crate::wire::{DataTransfer, Flags};
use crate::{Head, RecvId, Token};

impl Connection {
    /// 3.1.5.8, in the order of CR-8: everything is checked before anything is done about it (KA-6).
    #[inline]
    pub(super) fn on_data(&mut self, id: RecvId, head: &Head, len: u32, invalidated: Option<Token>) {
        let Ok(header) = DataTransfer::parse(head.as_bytes()) else {
            return self.reject(id, short(DataTransfer::LEN, head, "3.1.5.8"));
        };
        if !self.receiver.is_usual(&header, len)
            && let Err(violation) = self.receiver.inspect(header, len, &mut self.stats.tolerances)
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
    #[inline]
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

    #[cold]
    fn on_invalidated(&mut self, token: Token) -> Result<(), Violation> {
        let index = self.registrations.invalidate(token).ok_or(Violation::ForeignInvalidation { token })?;
        self.stats.received.invalidations = self.stats.received.invalidations.wrapping_add(1);
        self.push_event(Pending::Invalidated { index, token });
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn reject(&mut self, id: RecvId, violation: Violation) {
        self.receiver.retire(id.0);
        self.end(Cause::Violation(violation));
    }
}
