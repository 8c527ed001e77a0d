//! Lists of descriptors, which are used again: a relay that has been in use for a while allocates nothing for a request.

use alloc::sync::Arc;
use alloc::vec::Vec;

use smbd_core::wire::BufferDescriptors;

use crate::wire::BufferDescriptorV1;

/// Memory of the client, by its descriptors.
pub(super) type Remote = Arc<[BufferDescriptorV1]>;

/// Lists that are kept. So many requests can be under way without one that allocates.
const LISTS_MAX: usize = 64;
/// Descriptors of a list that is kept. Of the transfers that have more there are few.
const LEN_MAX: usize = 17;

/// The most bytes of all lists that are kept, each with its counters and its place.
pub(super) const LISTS_BYTES_MAX: usize =
    LISTS_MAX.saturating_mul(LEN_MAX.saturating_add(3)).saturating_mul(BufferDescriptorV1::LEN);

/// Each list is kept from the beginning: it is free when nobody else has it any more.
#[derive(Debug)]
pub(super) struct Lists {
    /// In the order of their use, which is nearly that in which they become free.
    lists: Vec<Remote>,
    /// Behind the one that was used last.
    next: usize,
}

impl Lists {
    pub(super) const fn new() -> Self {
        Self { lists: Vec::new(), next: 0 }
    }

    /// A list of these descriptors.
    #[inline]
    pub(super) fn list(&mut self, descriptors: BufferDescriptors<'_>) -> Remote {
        match self.lists.get_mut(self.next).and_then(|list| fill(list, descriptors)) {
            Some(list) => self.used(self.next, list),
            None => self.search(descriptors),
        }
    }

    /// The same, if the next one is not free.
    #[inline(never)]
    fn search(&mut self, descriptors: BufferDescriptors<'_>) -> Remote {
        let mut lists = self.lists.iter_mut().enumerate();
        if let Some((at, list)) = lists.find_map(|(at, list)| Some((at, fill(list, descriptors)?))) {
            return self.used(at, list);
        }
        let list: Remote = descriptors.iter().collect();
        if list.len() > LEN_MAX {
            return list;
        }
        if self.lists.len() < LISTS_MAX {
            self.lists.insert(self.next, list.clone());
        } else if let Some(place) = self.lists.get_mut(self.next) {
            *place = list.clone();
        }
        self.used(self.next, list)
    }

    /// The list at `at` is used.
    #[inline]
    fn used(&mut self, at: usize, list: Remote) -> Remote {
        let next = at.saturating_add(1);
        self.next = if next < self.lists.len() { next } else { 0 };
        list
    }
}

/// Puts descriptors into a list, if nobody else has it and it has as many.
#[inline]
fn fill(list: &mut Remote, descriptors: BufferDescriptors<'_>) -> Option<Remote> {
    let places = Arc::get_mut(list).filter(|places| places.len() == descriptors.len())?;
    places.iter_mut().zip(descriptors.iter()).for_each(|(place, descriptor)| *place = descriptor);
    Some(list.clone())
}
