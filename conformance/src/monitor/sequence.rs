//! Fragments of the upper-layer messages of one side.

use smbd_core::wire::DataTransfer;

use super::data::is_empty;
use super::rules::data as rules;
use super::verdict::{At, Journal};

/// Where a side stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sequence {
    /// Fragments may have been sent that are not in the capture.
    Unknown,
    /// Between upper-layer messages.
    Idle,
    /// In one.
    Open {
        /// Bytes that have not been sent.
        left: u64,
        /// A fragment of it invalidated a token.
        invalidated: bool,
    },
}

impl Sequence {
    pub(super) const fn new(known: bool) -> Self {
        if known { Self::Idle } else { Self::Unknown }
    }

    pub(super) fn fragment(
        &mut self,
        at: At,
        header: &DataTransfer,
        invalidates: bool,
        journal: &mut Journal,
    ) {
        let (length, remaining) = (u64::from(header.data_length), u64::from(header.remaining_data_length));
        if is_empty(header) {
            match self {
                Self::Open { left, .. } => {
                    let seen = format!("an empty message with {left} bytes to come");
                    journal.broken(&rules::SEQUENCE_INTERRUPTED, at, seen, "the next fragment");
                }
                Self::Unknown => journal.not_judged(&rules::SEQUENCE_INTERRUPTED),
                Self::Idle => {}
            }
            return;
        }
        if length == 0 {
            let seen = format!("DataLength 0, RemainingDataLength {remaining}");
            journal.broken(&rules::FRAGMENT_WITHOUT_DATA, at, seen, "payload");
        }
        let mut invalidated = invalidates;
        match *self {
            Self::Open { left, invalidated: before } => {
                if length + remaining != left {
                    let seen = format!("DataLength {length}, RemainingDataLength {remaining}");
                    let expected = format!("together {left}");
                    journal.broken(&rules::SEQUENCE_REMAINING, at, seen, expected);
                }
                if before && invalidates {
                    let seen = "a second token of one upper-layer message";
                    journal.broken(&rules::INVALIDATE_REPEATED, at, seen, "one at most");
                }
                invalidated |= before;
            }
            Self::Unknown => journal.not_judged(&rules::SEQUENCE_REMAINING),
            Self::Idle => {}
        }
        *self = if remaining > 0 { Self::Open { left: remaining, invalidated } } else { Self::Idle };
    }
}
