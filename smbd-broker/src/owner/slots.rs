//! The slots that no transfer uses.

use crate::wire::{Area, Memory};

/// The slots of an owner that are its own at the moment.
#[derive(Debug)]
pub struct Slots {
    slot_len: u32,
    /// Which are free. The one that was used last comes first: it is in the caches.
    free: Vec<u16>,
    total: u16,
}

impl Slots {
    /// None yet, each of `slot_len` bytes ([`Limits::slot_len`](crate::wire::Limits)).
    #[must_use]
    pub const fn new(slot_len: u32) -> Self {
        Self { slot_len, free: Vec::new(), total: 0 }
    }

    /// Bytes of a slot.
    #[must_use]
    pub const fn slot_len(&self) -> u32 {
        self.slot_len
    }

    /// All slots of the owner.
    #[must_use]
    pub const fn total(&self) -> u16 {
        self.total
    }

    /// Those that are free.
    #[must_use]
    pub const fn free(&self) -> usize {
        self.free.len()
    }

    /// What GET_MEM_PARAMS has given.
    pub fn add(&mut self, memory: Memory) {
        let new = memory.first..memory.first.saturating_add(memory.count);
        self.free.extend(new.rev());
        self.total = memory.total;
    }

    /// Slots for `len` bytes, at least 1. `None` if there are not enough.
    #[must_use]
    pub fn take(&mut self, len: u64) -> Option<Vec<Area>> {
        let slot_len = u64::from(self.slot_len.max(1));
        let count = usize::try_from(len.div_ceil(slot_len)).ok()?;
        let at = self.free.len().checked_sub(count).filter(|_| count > 0)?;
        let mut left = len;
        let areas = self.free.drain(at..).rev().map(|slot| {
            let len = left.min(slot_len);
            left = left.saturating_sub(len);
            Area { slot, len: u32::try_from(len).unwrap_or(u32::MAX) }
        });
        Some(areas.collect())
    }

    /// Gives slots back that were taken.
    pub fn give(&mut self, areas: &[Area]) {
        self.free.extend(areas.iter().rev().map(|area| area.slot));
    }
}
