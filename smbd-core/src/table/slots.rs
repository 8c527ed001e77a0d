use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::id::Slot;

/// A table of fixed size whose entries are named by slot and generation: a name used twice, or made up, names nothing.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    entries: Box<[Entry<T>]>,
    /// The first free slot, or `NONE`.
    free: u16,
    used: u16,
}

/// No slot: there are at most 65,535.
const NONE: u16 = u16::MAX;

#[derive(Clone, Debug)]
struct Entry<T> {
    generation: u32,
    state: State<T>,
}

#[derive(Clone, Debug)]
enum State<T> {
    /// `next` is the next free slot, or `NONE`.
    Free {
        next: u16,
    },
    Used(T),
}

impl<T> Slots<T> {
    /// Bytes that one slot takes.
    pub(crate) const SLOT_BYTES: u64 = size_of::<Entry<T>>() as u64;

    pub(crate) fn new(count: u16) -> Self {
        let entries: Vec<_> = (1..=count)
            .map(|next| Entry {
                generation: 0,
                state: State::Free { next: if next < count { next } else { NONE } },
            })
            .collect();
        Self { entries: entries.into_boxed_slice(), free: if count > 0 { 0 } else { NONE }, used: 0 }
    }

    pub(crate) const fn used(&self) -> u16 {
        self.used
    }

    pub(crate) fn free(&self) -> u16 {
        u16::try_from(self.entries.len()).unwrap_or(u16::MAX).wrapping_sub(self.used)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.free == NONE
    }

    pub(crate) fn acquire(&mut self, value: T) -> Option<Slot> {
        let index = self.free;
        let entry = self.entries.get_mut(usize::from(index))?;
        let State::Free { next } = entry.state else { return None };
        entry.state = State::Used(value);
        self.free = next;
        self.used = self.used.wrapping_add(1);
        Some(Slot { generation: entry.generation, index })
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        match self.entries.get(usize::from(slot.index)) {
            Some(Entry { generation, state: State::Used(value) }) if *generation == slot.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        match self.entries.get_mut(usize::from(slot.index)) {
            Some(Entry { generation, state: State::Used(value) }) if *generation == slot.generation => {
                Some(value)
            }
            _ => None,
        }
    }

    /// Frees the slot; its name is void from now on.
    pub(crate) fn release(&mut self, slot: Slot) -> Option<T> {
        let free = self.free;
        let entry = self.entries.get_mut(usize::from(slot.index))?;
        if entry.generation != slot.generation || matches!(entry.state, State::Free { .. }) {
            return None;
        }
        let State::Used(value) = core::mem::replace(&mut entry.state, State::Free { next: free }) else {
            return None;
        };
        entry.generation = entry.generation.wrapping_add(1);
        self.free = slot.index;
        self.used = self.used.wrapping_sub(1);
        Some(value)
    }

    /// The full name of the slot in use at `index`.
    pub(crate) fn name(&self, index: u16) -> Option<Slot> {
        match self.entries.get(usize::from(index)) {
            Some(Entry { generation, state: State::Used(_) }) => {
                Some(Slot { generation: *generation, index })
            }
            _ => None,
        }
    }

    /// All entries in use, in table order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        (0..).zip(&self.entries).filter_map(|(index, entry)| match &entry.state {
            State::Used(value) => Some((Slot { generation: entry.generation, index }, value)),
            State::Free { .. } => None,
        })
    }

    /// All entries in use, in table order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Slot, &mut T)> {
        (0..).zip(&mut self.entries).filter_map(|(index, entry)| match &mut entry.state {
            State::Used(value) => Some((Slot { generation: entry.generation, index }, value)),
            State::Free { .. } => None,
        })
    }
}
