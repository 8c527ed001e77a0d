//! What a Data Transfer message of the peer does (3.1.5.8).

use super::negotiate::short;
use super::pending::Arrived;
use super::phase::{Cause, Phase};
use super::{Connection, Pending};
use crate::error::Violation;
use crate::wire::{DataTransfer, DataTransferView, Flags};
use crate::{Head, RecvId, Token};

impl Connection {
    /// The header of a message that breaks no rule and has nothing unusual about it: whatever else comes is looked at
    /// by `on_data`.
    #[inline(always)]
    pub(super) fn plain_data<'a>(
        &self,
        id: RecvId,
        head: &'a Head,
        len: u32,
    ) -> Option<DataTransferView<'a>> {
        // A message that is too short has not the length of any usual one either.
        let header = DataTransferView::get(head.as_array())?;
        let is_plain = matches!(self.phase, Phase::Established(_))
            && self.receiver.is_posted(id)
            && head.len() == len.min(Head::MAX_LEN)
            && self.receiver.is_usual(header, len)
            && self.credits.allow(header.credits_granted())
            && !self.probe.is_sent();
        is_plain.then_some(header)
    }

    /// 3.1.5.8, in the order of CR-8: everything is checked before anything is done about it (KA-6).
    pub(super) fn on_data(&mut self, id: RecvId, head: &Head, len: u32, invalidated: Option<Token>) {
        self.receiver.mark_borrowed(id.0);
        let Ok(header) = DataTransferView::new(head.as_bytes()) else {
            return self.reject(id, short(DataTransfer::LEN, head, "3.1.5.8"));
        };
        if let Err(violation) = self.check_data(header, len, invalidated) {
            return self.reject(id, violation);
        }
        if self.probe.on_receipt(self.now) {
            self.push_event(Pending::Probed);
        }
        if header.flags().contains(Flags::RESPONSE_REQUESTED) {
            self.stats.received.keepalives = self.stats.received.keepalives.wrapping_add(1);
            self.answer_owed = true;
        }
        if header.data_length() > 0 { self.accept(id, header) } else { self.accept_empty(id, header) }
    }

    fn check_data(
        &mut self,
        header: DataTransferView<'_>,
        len: u32,
        invalidated: Option<Token>,
    ) -> Result<(), Violation> {
        self.receiver.check(&header.into(), len, &mut self.stats.tolerances)?;
        self.credits.check(header.credits_granted())?;
        invalidated.map_or(Ok(()), |token| self.on_invalidated(token))
    }

    /// A valid message with data.
    #[inline(never)]
    pub(super) fn accept(&mut self, id: RecvId, header: DataTransferView<'_>) {
        let fragment = self.accepted(id, header);
        let pushed = self.events.push_fragment(fragment);
        debug_assert!(pushed, "more events than work outstanding");
    }

    /// Records a valid message with data; the fragment that is to be told.
    #[inline(always)]
    pub(super) fn accepted(&mut self, id: RecvId, header: DataTransferView<'_>) -> Arrived {
        self.accept_any(header);
        let (len, remaining) = (header.data_length(), header.remaining_data_length());
        let first = self.receiver.advance(remaining);
        let received = &mut self.stats.received;
        received.bytes = received.bytes.wrapping_add(u64::from(len));
        received.fragments = received.fragments.wrapping_add(u64::from(!first || remaining > 0));
        Arrived { recv: id, offset: header.data_offset(), len, remaining, first }
    }

    fn accept_empty(&mut self, id: RecvId, header: DataTransferView<'_>) {
        self.accept_any(header);
        self.stats.received.empties = self.stats.received.empties.wrapping_add(1);
        self.receiver.advance_empty(header.remaining_data_length());
        self.receiver.slots.release(id.0);
    }

    /// What any valid message does: it is a keepalive response, and moves credits.
    #[inline]
    fn accept_any(&mut self, header: DataTransferView<'_>) {
        let granted = header.credits_granted();
        let received = &mut self.stats.received;
        received.messages = received.messages.wrapping_add(1);
        self.idle.restart(self.now);
        self.credits.on_message(header.credits_requested(), granted);
        if granted > 0 {
            received.credits = received.credits.wrapping_add(u64::from(granted));
            // The wait for a credit is over, whoever polls when.
            self.stall = None;
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
        self.receiver.slots.release(id.0);
        self.end(Cause::Violation(violation));
    }
}
