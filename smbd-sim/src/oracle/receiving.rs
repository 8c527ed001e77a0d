//! Data messages of the peer, and the fragments that follow from them.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use smbd_core::wire::{DATA_OFFSET, DataTransfer};
use smbd_core::{Config, Fragment, RecvId};

use super::law::{Law, Verdicts};
use super::rule::{Rule, Rules};

/// A fragment the upper layer is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) recv: RecvId,
    offset: u32,
    pub(super) len: u32,
    pub(super) remaining: u32,
    pub(super) first: bool,
}

/// The receiving side of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    strict: bool,
    pub(super) max_receive_size: u32,
    max_fragmented: u32,
    /// Bytes missing of the message under way.
    missing: Option<u32>,
    /// A fragment with data of it has come.
    begun: bool,
    due: VecDeque<Due>,
    /// The first so many were there when messages were no longer wanted: an endpoint may have taken them in before.
    before_pause: usize,
}

impl Receiving {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            strict: config.strict,
            max_receive_size: config.max_receive_size,
            max_fragmented: config.max_fragmented_recv_size,
            missing: None,
            begun: false,
            due: VecDeque::new(),
            before_pause: 0,
        }
    }

    /// All rules of 3.1.5.8 that a message of `got` bytes breaks.
    pub(super) fn judge(&self, header: &DataTransfer, got: u32) -> Rules {
        let (offset, len, remaining) = (header.data_offset, header.data_length, header.remaining_data_length);
        let empty = len == 0 && remaining == 0;
        let end = u64::from(offset) + u64::from(len);
        let mut rules = Rules::none();
        rules.add_if(got > self.max_receive_size, Rule::LongMessage);
        rules.add_if(header.credits_requested == 0, Rule::CreditsRequestedZero);
        rules.add_if(offset % 8 != 0, Rule::DataMisaligned);
        rules.add_if(len > 0 && offset < DATA_OFFSET, Rule::DataInsideHeader);
        rules.add_if(end > u64::from(got), Rule::DataBeyondMessage);
        let announced = u64::from(len) + u64::from(remaining);
        rules.add_if(announced > u64::from(self.max_fragmented), Rule::MessageTooLong);
        let continues = self.missing.is_none_or(|missing| announced == u64::from(missing));
        rules.add_if(!empty && !continues, Rule::FragmentMismatch);
        if self.strict {
            let usual = if len > 0 { DATA_OFFSET } else { 0 };
            let used = if len > 0 { end } else { 20 };
            rules.add_if(offset != usual, Rule::UnusualDataOffset);
            rules.add_if(u64::from(got) > used, Rule::TrailingBytes);
            rules.add_if(empty && self.missing.is_some(), Rule::EmptyInsideSequence);
        }
        rules
    }

    /// A valid message came. Whether its receive is borrowed to the upper layer.
    pub(super) fn on_message(&mut self, recv: RecvId, header: &DataTransfer) -> bool {
        let (len, remaining) = (header.data_length, header.remaining_data_length);
        if len == 0 && remaining == 0 {
            return false;
        }
        let first = !self.begun;
        self.missing = (remaining > 0).then_some(remaining);
        self.begun = remaining > 0 && (self.begun || len > 0);
        if len > 0 {
            self.due.push_back(Due { recv, offset: header.data_offset, len, remaining, first });
        }
        len > 0
    }

    /// A fragment is handed up.
    pub(super) fn on_event(&mut self, fragment: &Fragment, v: &mut Verdicts) {
        let got = Due {
            recv: fragment.recv(),
            offset: u32::try_from(fragment.range().start).unwrap_or(u32::MAX),
            len: fragment.len(),
            remaining: fragment.remaining(),
            first: fragment.is_first(),
        };
        let due = self.take_due();
        v.check(Law::Events, due == Some(got), || format!("{got:?} handed up, due was {due:?}"));
    }

    /// What can influence a verdict: all but the names of receives.
    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        (self.max_receive_size, self.missing, self.begun, self.before_pause).hash(into);
        for due in &self.due {
            (due.offset, due.len, due.remaining, due.first).hash(into);
        }
    }

    /// The next fragment, to be handed up.
    pub(super) fn peek_due(&self) -> Option<&Due> {
        self.due.front()
    }

    /// The next fragment was taken without being handed up.
    pub(super) fn take_due(&mut self) -> Option<Due> {
        self.before_pause = self.before_pause.saturating_sub(1);
        self.due.pop_front()
    }

    /// Messages are not wanted from now on.
    pub(super) fn on_pause(&mut self) {
        self.before_pause = self.due.len();
    }

    /// Whether the fragment in a receive slot may have been taken in before a pause.
    pub(super) fn may_be_taken(&self, slot: u16) -> bool {
        self.due.iter().take(self.before_pause).any(|due| due.recv.slot() == slot)
    }

    /// Fragments not handed up.
    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    /// Nobody will be told of what came: the receives that hold it.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = RecvId> {
        self.before_pause = 0;
        std::mem::take(&mut self.due).into_iter().map(|due| due.recv)
    }
}
