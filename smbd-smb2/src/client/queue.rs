//! A queue whose first entry has a place of its own: where no more wait than one, nothing is worked out.

use alloc::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Queue<T> {
    first: Option<T>,
    /// What is behind it; nothing if there is no first one.
    rest: VecDeque<T>,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new(count: usize) -> Self {
        Self { first: None, rest: VecDeque::with_capacity(count) }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) const fn first(&self) -> Option<T> {
        self.first
    }

    #[inline]
    pub(super) fn push_back(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.push_behind(entry);
        }
    }

    #[inline(never)]
    fn push_behind(&mut self, entry: T) {
        self.rest.push_back(entry);
    }

    pub(super) fn push_front(&mut self, entry: T) {
        if let Some(first) = self.first.replace(entry) {
            self.rest.push_front(first);
        }
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        if !self.rest.is_empty() {
            self.advance();
        }
        first
    }

    #[inline(never)]
    fn advance(&mut self) {
        self.first = self.rest.pop_front();
    }

    pub(super) fn pop_back(&mut self) -> Option<T> {
        self.rest.pop_back().or_else(|| self.first.take())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    /// Keeps what `is_kept` is true for.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.rest.retain(&is_kept);
        if self.first.as_ref().is_some_and(|first| !is_kept(first)) {
            self.advance();
        }
    }

    /// Finds the entry with this key behind the first one: keys ascend.
    pub(super) fn find_behind<K: Ord>(&self, key: &K, key_of: impl Fn(&T) -> K) -> Option<(usize, T)> {
        let index = self.rest.binary_search_by(|entry| key_of(entry).cmp(key)).ok()?;
        self.rest.get(index).map(|entry| (index, *entry))
    }

    /// Removes the entry at this place behind the first one.
    #[inline(never)]
    pub(super) fn remove_behind(&mut self, index: usize) {
        self.rest.remove(index);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_leave_in_the_order_of_any_queue(steps in prop::collection::vec((0..6_u8, 0..5_u32), 0..60)) {
            let (mut queue, mut other) = (Queue::new(1), VecDeque::new());
            for (step, entry) in steps {
                match step {
                    0 | 1 => (queue.push_back(entry), other.push_back(entry)),
                    2 => (queue.push_front(entry), other.push_front(entry)),
                    3 => {
                        prop_assert_eq!(queue.pop_front(), other.pop_front());
                        continue;
                    }
                    4 => {
                        prop_assert_eq!(queue.pop_back(), other.pop_back());
                        continue;
                    }
                    _ => (queue.retain(|kept| *kept != entry), other.retain(|kept| *kept != entry)),
                };
                prop_assert_eq!(queue.iter().copied().collect::<Vec<_>>(), other.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!((queue.is_empty(), queue.first()), (other.is_empty(), other.front().copied()));
            }
        }
    }

    #[test]
    fn what_is_behind_the_first_entry_is_found_by_its_key_and_removed() {
        let mut queue = Queue::new(3);
        [3, 5, 8].into_iter().for_each(|key| queue.push_back((key, ())));
        let found = [3, 5, 6, 8].map(|key| queue.find_behind(&key, |entry| entry.0));
        assert_eq!(found, [None, Some((0, (5, ()))), None, Some((1, (8, ())))]);
        queue.remove_behind(0);
        assert_eq!(queue.iter().copied().collect::<Vec<_>>(), [(3, ()), (8, ())]);
    }
}
