//! Slots where the process sees them, and whose each is.
//!
//! Nothing here reads or writes a slot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_broker::client::Slots;
use smbd_broker::socket::Mapping;
use smbd_broker::wire::Area;

use crate::failure::Failure;

/// The slots of an owner.
#[derive(Debug)]
pub(crate) struct Memory {
    slots: Slots,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Slots that were taken once. They stay mapped.
    mappings: BTreeMap<u16, Arc<Mapping>>,
    /// Those that are not free.
    taken: BTreeMap<u16, Holder>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The caller.
    Caller,
    /// A transfer.
    Transfer,
}

/// Where bytes of a slot are: an address, and how many.
pub(crate) type Place = (usize, usize);

impl Memory {
    pub(crate) fn new(slots: Slots) -> Self {
        Self { slots, state: Mutex::default() }
    }

    /// Gives the caller slots that were taken, and says where they are.
    pub(crate) fn hand_out(&self, areas: &[Area]) -> Result<Vec<Place>, Failure> {
        let places = self.map(areas);
        if places.is_err() {
            self.slots.give(areas);
        }
        places
    }

    fn map(&self, areas: &[Area]) -> Result<Vec<Place>, Failure> {
        let mut state = self.lock();
        for Area { slot, .. } in areas {
            if !state.mappings.contains_key(slot) {
                state.mappings.insert(*slot, self.slots.mapping(*slot)?);
            }
        }
        let State { mappings, taken } = &mut *state;
        let places = areas.iter().filter_map(|Area { slot, len }| {
            taken.insert(*slot, Holder::Caller);
            Some((address(mappings.get(slot)?), *len as usize))
        });
        Ok(places.collect())
    }

    /// Takes slots back from the caller.
    pub(crate) fn give(&self, places: &[Place]) -> Result<(), Failure> {
        let mut state = self.lock();
        let areas = state.areas(places, 0..=self.slots.slot_len())?;
        for area in &areas {
            state.taken.remove(&area.slot);
        }
        self.slots.give(&areas);
        Ok(())
    }

    /// Slots of the caller become those of a transfer.
    pub(crate) fn begin(&self, places: &[Place]) -> Result<Vec<Area>, Failure> {
        let mut state = self.lock();
        let areas = state.areas(places, 1..=self.slots.slot_len())?;
        state.set(&areas, Holder::Transfer);
        Ok(areas)
    }

    /// A transfer has ended, or was not taken: its slots are the caller's.
    pub(crate) fn end(&self, areas: &[Area]) {
        self.lock().set(areas, Holder::Caller);
    }

    /// The same, and nobody wants them any more.
    pub(crate) fn free(&self, areas: &[Area]) {
        let mut state = self.lock();
        for area in areas {
            state.taken.remove(&area.slot);
        }
        self.slots.give(areas);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The slots at these places, each once, if all are the caller's.
    fn areas(&self, places: &[Place], lens: std::ops::RangeInclusive<u32>) -> Result<Vec<Area>, Failure> {
        let mut areas: Vec<Area> = Vec::with_capacity(places.len());
        for (address, len) in places {
            let slot = self
                .mappings
                .iter()
                .find(|(_, mapping)| self::address(mapping) == *address)
                .map(|(slot, _)| *slot);
            let slot = slot.ok_or_else(|| Failure::new(libc::EFAULT, "there is no slot at this address"))?;
            let len = u32::try_from(*len).ok().filter(|len| lens.contains(len));
            let len = len.ok_or_else(|| Failure::new(libc::EINVAL, "a slot has no such length"))?;
            match self.taken.get(&slot) {
                Some(Holder::Caller) if areas.iter().all(|area| area.slot != slot) => {
                    areas.push(Area { slot, len })
                }
                Some(Holder::Caller) => return Err(Failure::new(libc::EINVAL, "a slot is named twice")),
                Some(Holder::Transfer) => return Err(Failure::new(libc::EBUSY, "a transfer has the slot")),
                None => return Err(Failure::new(libc::EINVAL, "the slot was given back, or never taken")),
            }
        }
        Ok(areas)
    }

    fn set(&mut self, areas: &[Area], holder: Holder) {
        self.taken.extend(areas.iter().map(|area| (area.slot, holder)));
    }
}

/// Where C finds a slot.
fn address(mapping: &Mapping) -> usize {
    mapping.start().as_ptr().expose_provenance()
}
