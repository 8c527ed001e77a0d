//! Lists of descriptors, which are used again: a relay that has been in use for a while allocates nothing for a request.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use smbd_core::wire::BufferDescriptors;

use crate::wire::BufferDescriptorV1;

/// Memory of the client, by its descriptors.
pub(super) type Remote = Arc<[BufferDescriptorV1]>;

/// Lists that are kept. As many requests can be answered at once without another one that allocates.
const LISTS_MAX: usize = 32;
/// Descriptors of a list that is kept. Of the transfers that have more there are few.
const LEN_MAX: usize = 17;

/// The most bytes of all lists that are kept, each with its counters and its place.
pub(super) const LISTS_BYTES_MAX: usize =
    LISTS_MAX.saturating_mul(LEN_MAX.saturating_add(3)).saturating_mul(BufferDescriptorV1::LEN);

#[derive(Debug)]
pub(super) struct Lists {
    /// The driver may still have clones of them.
    spare: VecDeque<Remote>,
}

impl Lists {
    pub(super) const fn new() -> Self {
        Self { spare: VecDeque::new() }
    }

    /// A list of these descriptors.
    #[inline]
    pub(super) fn list(&mut self, descriptors: BufferDescriptors<'_>) -> Remote {
        let mut is_free =
            |list: &mut Arc<[_]>| list.len() == descriptors.len() && Arc::get_mut(list).is_some();
        // The oldest is the most likely to be free.
        let free = if self.spare.front_mut().is_some_and(&mut is_free) {
            self.spare.pop_front()
        } else {
            let at = self.spare.iter_mut().position(is_free);
            at.and_then(|at| self.spare.remove(at))
        };
        let Some(mut list) = free else { return descriptors.iter().collect() };
        if let Some(places) = Arc::get_mut(&mut list) {
            places.iter_mut().zip(descriptors.iter()).for_each(|(place, descriptor)| *place = descriptor);
        }
        list
    }

    /// Keeps a list in the place of the oldest one.
    pub(super) fn reuse(&mut self, list: Remote) {
        if list.len() > LEN_MAX {
            return;
        }
        if self.spare.len() >= LISTS_MAX {
            self.spare.pop_front();
        }
        self.spare.push_back(list);
    }
}
