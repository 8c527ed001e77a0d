//! The ring that the requests of a work queue lie in.

use alloc::boxed::Box;
use alloc::vec;

use super::Request;
use crate::RecvId;
use crate::error::WorkError;
use crate::id::Slot;

/// A recorded request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) request: Request,
    pub(super) error: Option<WorkError>,
}

impl Entry {
    /// What stands in places that are not in use.
    const NONE: Self = Self::new(Request::Recv(RecvId(Slot { generation: 0, index: 0 })));

    pub(super) const fn new(request: Request) -> Self {
        Self { request, error: None }
    }

    /// The first failure counts, but a cause more than its consequence.
    pub(super) fn fail(&mut self, error: WorkError) {
        if matches!(self.error, None | Some(WorkError::Flushed)) {
            self.error = Some(error);
        }
    }
}

/// Places for entries by their position, a count that wraps.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// As many as a power of two.
    entries: Box<[Entry]>,
}

impl Places {
    /// At least `len` places.
    pub(super) fn new(len: usize) -> Self {
        let len = len.checked_next_power_of_two().unwrap_or(1);
        Self { entries: vec![Entry::NONE; len].into_boxed_slice() }
    }

    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(super) fn get(&self, position: usize) -> Option<&Entry> {
        self.entries.get(position & self.entries.len().wrapping_sub(1))
    }

    #[inline]
    pub(super) fn get_mut(&mut self, position: usize) -> Option<&mut Entry> {
        self.entries.get_mut(position & self.entries.len().wrapping_sub(1))
    }

    /// Twice as many. All places are in use, from `first` on.
    #[cold]
    #[inline(never)]
    pub(super) fn grow(&mut self, first: usize) {
        let mut larger = Self::new(self.len().saturating_mul(2));
        for position in positions(first, first.wrapping_add(self.len())) {
            if let Some(entry) = self.get(position)
                && let Some(place) = larger.get_mut(position)
            {
                *place = *entry;
            }
        }
        *self = larger;
    }

    /// Takes the entry at `position` out, and moves those from `first` on that are before it by one place.
    #[cold]
    #[inline(never)]
    pub(super) fn close_gap(&mut self, first: usize, mut position: usize) {
        while position != first {
            let before = position.wrapping_sub(1);
            if let Some(&entry) = self.get(before)
                && let Some(place) = self.get_mut(position)
            {
                *place = entry;
            }
            position = before;
        }
    }
}

/// The positions from one to the other.
pub(super) fn positions(from: usize, to: usize) -> impl Iterator<Item = usize> {
    (0..to.wrapping_sub(from)).map(move |offset| from.wrapping_add(offset))
}
