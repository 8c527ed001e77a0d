//! Receiving: the slots receives are posted from, and the sequence of fragments (3.1.5.8).

use crate::error::Violation;
use crate::id::Slot;
use crate::stats::Tolerances;
use crate::table::Slots;
use crate::wire::{DATA_OFFSET, DataTransfer, DataTransferView, Flags};
use crate::{Config, RecvId};

/// What a receive buffer is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecvState {
    /// With the device.
    Posted,
    /// Holds a fragment that the upper layer has, or will get.
    Borrowed,
}

#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) slots: Slots<RecvState>,
    /// How many slots are with the device; all slots together are fewer than 65,536.
    pub(crate) posted: u16,
    pub(crate) sequence: Sequence,
    /// Connection.MaxReceiveSize.
    pub(crate) max_receive_size: u32,
    /// Connection.MaxFragmentedRecvSize.
    pub(crate) max_fragmented_recv_size: u32,
    strict: bool,
}

/// Where a sequence of fragments stands. An explicit state: a remainder of 0 would mean two things (RA-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sequence {
    Idle,
    /// `expected` bytes are missing; `begun` when a fragment with data was delivered.
    Collecting {
        expected: u32,
        begun: bool,
    },
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let slots = config.receive_credit_max.saturating_add(1).saturating_add(config.borrowed_max);
        Self {
            slots: Slots::new(slots),
            posted: 0,
            sequence: Sequence::Idle,
            max_receive_size: config.max_receive_size,
            max_fragmented_recv_size: config.max_fragmented_recv_size,
            strict: config.strict,
        }
    }

    /// Takes a free slot for a receive; `None` if the upper layer has them all.
    pub(crate) fn post(&mut self) -> Option<RecvId> {
        let slot = self.slots.acquire(RecvState::Posted)?;
        self.posted = self.posted.wrapping_add(1);
        Some(RecvId(slot))
    }

    pub(crate) fn is_posted(&self, id: RecvId) -> bool {
        self.slots.get(id.0) == Some(&RecvState::Posted)
    }

    /// The device gave the slot back with nothing in it that anybody needs.
    pub(crate) fn retire(&mut self, slot: Slot) {
        self.posted = self.posted.wrapping_sub(1);
        self.slots.release(slot);
    }

    /// The device gave the slot back. If there is no fragment in it, it is to be released.
    #[inline]
    pub(crate) fn mark_borrowed(&mut self, slot: Slot) {
        if let Some(state) = self.slots.get_mut(slot) {
            *state = RecvState::Borrowed;
            self.posted = self.posted.wrapping_sub(1);
        }
    }

    pub(crate) const fn borrowed(&self) -> u16 {
        self.slots.used().saturating_sub(self.posted)
    }

    /// Whether this is an unflagged message with data to which `check` has nothing to say: those that matter for speed.
    #[inline(always)]
    pub(crate) fn is_usual(&self, header: DataTransferView<'_>, got: u32) -> bool {
        let (len, remaining) = (header.data_length(), header.remaining_data_length());
        let total = sum(len, remaining);
        header.flags() == Flags::NONE
            && header.credits_requested() != 0
            && header.data_offset() == DATA_OFFSET
            && len > 0
            && u64::from(got) == sum(DATA_OFFSET, len)
            && got <= self.max_receive_size
            && match self.sequence {
                Sequence::Collecting { expected, .. } => total == u64::from(expected),
                Sequence::Idle => total <= u64::from(self.max_fragmented_recv_size),
            }
    }

    /// All checks on a message of `got` bytes: what is wrong with it, or what has to be tolerated.
    pub(crate) fn check(
        &self,
        header: &DataTransfer,
        got: u32,
        tolerances: &mut Tolerances,
    ) -> Result<(), Violation> {
        self.check_rules(header, got)?;
        self.tolerate(header, got, tolerances)
    }

    /// The checks of 3.1.5.8 on a message of `got` bytes, and those of spec-issues VA and RA.
    fn check_rules(&self, header: &DataTransfer, got: u32) -> Result<(), Violation> {
        let DataTransfer { data_offset: offset, data_length: len, remaining_data_length: remaining, .. } =
            *header;
        if got > self.max_receive_size {
            return Err(Violation::LongMessage { max: self.max_receive_size, got });
        }
        if header.credits_requested == 0 {
            return Err(Violation::CreditsRequestedZero { section: "3.1.5.8" });
        }
        if offset % 8 != 0 {
            return Err(Violation::DataMisaligned { offset });
        }
        // VA-3: the first multiple of 8 behind the header.
        if len > 0 && offset < DATA_OFFSET {
            return Err(Violation::DataInsideHeader { offset, len });
        }
        // VA-1, VA-2.
        if sum(offset, len) > u64::from(got) {
            return Err(Violation::DataBeyondMessage { offset, len, got });
        }
        if sum(len, remaining) > u64::from(self.max_fragmented_recv_size) {
            let max = self.max_fragmented_recv_size;
            return Err(Violation::MessageTooLong { len, remaining, max });
        }
        match self.sequence {
            // RA-4: an empty message is no fragment.
            Sequence::Collecting { expected, .. }
                if len | remaining != 0 && sum(len, remaining) != u64::from(expected) =>
            {
                Err(Violation::FragmentMismatch { len, remaining, expected })
            }
            Sequence::Idle | Sequence::Collecting { .. } => Ok(()),
        }
    }

    /// Counts what is tolerated; in strict mode it is not.
    fn tolerate(
        &self,
        header: &DataTransfer,
        got: u32,
        tolerances: &mut Tolerances,
    ) -> Result<(), Violation> {
        let DataTransfer { data_offset: offset, data_length: len, remaining_data_length: remaining, .. } =
            *header;
        let data_end = if len > 0 { offset.saturating_add(len) } else { HEADER_LEN };
        let counts = [
            (header.flags.unknown() != 0, &mut tolerances.unknown_flags, None),
            (
                offset != if len > 0 { DATA_OFFSET } else { 0 },
                &mut tolerances.unusual_data_offset,
                Some(Violation::UnusualDataOffset { offset }),
            ),
            (
                got > data_end,
                &mut tolerances.trailing_bytes,
                Some(Violation::TrailingBytes { extra: got.saturating_sub(data_end) }),
            ),
            (
                len | remaining == 0 && self.sequence != Sequence::Idle,
                &mut tolerances.empty_inside_sequence,
                Some(Violation::EmptyInsideSequence { expected: self.expected() }),
            ),
        ];
        for (happened, count, violation) in counts {
            if happened {
                *count = count.saturating_add(1);
                if let Some(violation) = violation.filter(|_| self.strict) {
                    return Err(violation);
                }
            }
        }
        Ok(())
    }

    /// Bytes missing in the open sequence.
    pub(crate) const fn expected(&self) -> u32 {
        match self.sequence {
            Sequence::Idle => 0,
            Sequence::Collecting { expected, .. } => expected,
        }
    }

    /// Moves the sequence on by a checked message with data. Tells whether these are the first of an upper-layer
    /// message.
    pub(crate) const fn advance(&mut self, remaining: u32) -> bool {
        let begun = matches!(self.sequence, Sequence::Collecting { begun: true, .. });
        self.sequence = match remaining {
            0 => Sequence::Idle,
            expected => Sequence::Collecting { expected, begun: true },
        };
        !begun
    }

    /// The same by a message without data: one that announces some opens a sequence, any other is no part of one.
    pub(crate) const fn advance_empty(&mut self, remaining: u32) {
        if remaining != 0 && matches!(self.sequence, Sequence::Idle) {
            self.sequence = Sequence::Collecting { expected: remaining, begun: false };
        }
    }

    pub(crate) const fn is_strict(&self) -> bool {
        self.strict
    }
}

#[expect(clippy::cast_possible_truncation, reason = "20")]
const HEADER_LEN: u32 = DataTransfer::LEN as u32;

/// In 64 bits there is no overflow.
fn sum(a: u32, b: u32) -> u64 {
    u64::from(a).wrapping_add(u64::from(b))
}
