//! The driver's buffers of one direction, and what each is used for.

use alloc::vec::Vec;

/// A fixed number of places.
#[derive(Debug)]
pub(super) struct Slots<S> {
    slots: Vec<Option<S>>,
    free: Vec<u16>,
}

impl<S> Slots<S> {
    pub(super) fn new(count: u16) -> Self {
        Self { slots: (0..count).map(|_| None).collect(), free: (0..count).rev().collect() }
    }

    /// A free place for `use_as`.
    #[inline]
    pub(super) fn take(&mut self, use_as: S) -> Option<u16> {
        let index = self.free.pop()?;
        if let Some(slot) = self.slots.get_mut(usize::from(index)) {
            *slot = Some(use_as);
        }
        Some(index)
    }

    /// Whether a place is free.
    #[inline]
    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// How many places are free.
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// What a place is used for.
    #[inline]
    pub(super) fn get(&self, index: u16) -> Option<&S> {
        self.slots.get(usize::from(index))?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u16) -> Option<&mut S> {
        self.slots.get_mut(usize::from(index))?.as_mut()
    }

    /// Frees a place.
    #[inline]
    pub(super) fn free(&mut self, index: u16) {
        if self.slots.get_mut(usize::from(index)).and_then(Option::take).is_some() {
            self.free.push(index);
        }
    }
}
