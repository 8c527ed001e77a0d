//! Messages that an owner was given, and has not taken.

use std::collections::VecDeque;

use super::reason::Reason;
use crate::wire::MESSAGE_MIN;

/// The messages of a client that its owner has not taken.
#[derive(Debug)]
pub(super) struct Given {
    lens: VecDeque<u32>,
    /// Their sum.
    len: u64,
}

impl Given {
    pub(super) const fn new() -> Self {
        Self { lens: VecDeque::new(), len: 0 }
    }

    /// Whether there may be another one.
    pub(super) const fn is_below(&self, max: u32) -> bool {
        self.len < max as u64
    }

    /// Their bytes, each message counted with what it counts at least.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn add(&mut self, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX).max(MESSAGE_MIN);
        self.lens.push_back(len);
        self.len = self.len.saturating_add(len.into());
    }

    /// The owner has taken so many.
    pub(super) fn take(&mut self, count: u32) -> Result<(), Reason> {
        let given = self.lens.len();
        let Some(taken) = usize::try_from(count).ok().filter(|count| *count <= given) else {
            return Err(Reason::Taken { count, given });
        };
        let taken: u64 = self.lens.drain(..taken).map(u64::from).sum();
        self.len = self.len.saturating_sub(taken);
        Ok(())
    }
}
