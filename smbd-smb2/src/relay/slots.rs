//! The driver's buffers of one direction, and what each is used for.

use alloc::vec::Vec;

/// A fixed number of places.
#[derive(Debug)]
pub(super) struct Slots<S> {
    slots: Vec<Slot<S>>,
    /// The place that was freed last.
    free: Option<u16>,
    free_count: u16,
}

#[derive(Debug)]
enum Slot<S> {
    Used(S),
    /// With the place that was freed before it.
    Free(Option<u16>),
}

impl<S> Slots<S> {
    pub(super) fn new(count: u16) -> Self {
        let next = |index: u16| index.checked_add(1).filter(|next| *next < count);
        let slots = (0..count).map(|index| Slot::Free(next(index))).collect();
        Self { slots, free: (count > 0).then_some(0), free_count: count }
    }

    /// A free place for `use_as`.
    #[inline]
    pub(super) fn take(&mut self, use_as: S) -> Option<u16> {
        let index = self.free?;
        let slot = self.slots.get_mut(usize::from(index))?;
        let Slot::Free(next) = *slot else { return None };
        *slot = Slot::Used(use_as);
        (self.free, self.free_count) = (next, self.free_count.saturating_sub(1));
        Some(index)
    }

    /// Whether a place is free.
    #[inline]
    pub(super) const fn has_free(&self) -> bool {
        self.free.is_some()
    }

    /// How many places are free.
    pub(super) const fn free_count(&self) -> u16 {
        self.free_count
    }

    /// What a place is used for.
    #[inline]
    pub(super) fn get(&self, index: u16) -> Option<&S> {
        match self.slots.get(usize::from(index))? {
            Slot::Used(state) => Some(state),
            Slot::Free(_) => None,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> Option<&mut S> {
        match self.slots.get_mut(usize::from(index))? {
            Slot::Used(state) => Some(state),
            Slot::Free(_) => None,
        }
    }

    /// Frees a place.
    #[inline]
    pub(super) fn free(&mut self, index: u16) {
        if let Some(slot @ Slot::Used(_)) = self.slots.get_mut(usize::from(index)) {
            *slot = Slot::Free(self.free.replace(index));
            self.free_count = self.free_count.saturating_add(1);
        }
    }
}
