//! The slots of an owner, and what has to be in them.

use std::fmt;
use std::sync::Arc;

use smbd_broker::owner::Slots;
use smbd_broker::wire::{self, Area};

use crate::slot::Slab;
use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

pub struct Memory {
    slots: Slots,
    slabs: Vec<Arc<Slab>>,
    /// What has to be in each; nothing while the broker has it.
    known: Vec<Option<Vec<u8>>>,
}

impl Memory {
    pub fn new(slot_len: u32) -> Self {
        Self { slots: Slots::new(slot_len), slabs: Vec::new(), known: Vec::new() }
    }

    pub fn total(&self) -> u16 {
        self.slots.total()
    }

    pub fn slot_len(&self) -> u32 {
        self.slots.slot_len()
    }

    pub fn add(&mut self, memory: wire::Memory, slabs: &[Arc<Slab>], key: u64) -> Result<(), Breach> {
        let is_next =
            usize::from(memory.first) == self.slabs.len() && usize::from(memory.count) == slabs.len();
        law!("slots", is_next, "{memory:?} comes behind {} slots", self.slabs.len());
        for slab in slabs {
            let bytes = slab.bytes();
            law!("slots", bytes.iter().all(|byte| *byte == 0), "{slab:?} is new, and something is in it");
            let own = crate::words::pattern(key ^ self.slabs.len() as u64, bytes.len());
            slab.fill(&own);
            self.slabs.push(Arc::clone(slab));
            self.known.push(Some(own));
        }
        self.slots.add(memory);
        Ok(())
    }

    /// Slots for `len` bytes, cut anywhere. `None` if there are not enough now.
    pub fn take(&mut self, len: u32, chance: &mut Chance) -> Option<Vec<Area>> {
        let slot_len = self.slots.slot_len();
        let least = len.div_ceil(slot_len) as usize;
        let count = chance.size(least, (least + 3).min(len as usize).max(least));
        let count = count.min(self.slots.free()).max(least).min(wire::AREAS_MAX);
        let mut areas = self.slots.take(u64::from(slot_len) * count as u64)?;
        let mut left = len;
        for (at, area) in areas.iter_mut().enumerate() {
            let behind = (count - at - 1) as u32;
            // Each of the others has at least a byte, and at most a slot.
            let most = slot_len.min(left - behind);
            let least = left.saturating_sub(behind * slot_len).max(1);
            area.len = if behind == 0 { left } else { chance.size(least as usize, most as usize) as u32 };
            left -= area.len;
        }
        for area in &areas {
            self.known[usize::from(area.slot)] = None;
        }
        Some(areas)
    }

    pub fn fill(&self, areas: &[Area], mut bytes: &[u8]) {
        for area in areas {
            let (now, rest) = bytes.split_at(bytes.len().min(area.len as usize));
            self.slabs[usize::from(area.slot)].fill(now);
            bytes = rest;
        }
    }

    /// The broker has given slots back. What is in them.
    pub fn back(&mut self, areas: &[Area]) -> Result<Vec<u8>, Breach> {
        let mut read = Vec::new();
        for area in areas {
            let at = usize::from(area.slot);
            let slab = &self.slabs[at];
            let user = slab.user();
            law!("slots", user.is_none(), "{slab:?} is back, and a device of connection {user:?} uses it");
            law!("slots", self.known[at].is_none(), "{slab:?} is back, and was the owner's");
            let bytes = slab.bytes();
            read.extend_from_slice(&bytes[..area.len as usize]);
            self.known[at] = Some(bytes);
        }
        self.slots.give(areas);
        Ok(read)
    }

    /// Nobody has changed what is the owner's.
    pub fn check(&self) -> Result<(), Breach> {
        for (slab, known) in self.slabs.iter().zip(&self.known) {
            let Some(known) = known else { continue };
            law!("isolation", slab.bytes() == *known, "{slab:?} has changed, and is the owner's");
        }
        Ok(())
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("total", &self.total())
            .field("free", &self.slots.free())
            .finish_non_exhaustive()
    }
}
