//! A table of a fixed size, whose places are named by an index and a generation.

use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A place, and which of its uses: its index in the lowest 16 bits, the number of the use above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(NonZeroU64);

impl Key {
    /// That of a place that is not used yet.
    fn new(index: u16) -> Self {
        Self(NonZeroU64::MIN.saturating_add(u64::from(u16::MAX)) | u64::from(index))
    }

    fn index(self) -> usize {
        let [low, high, ..] = self.0.get().to_le_bytes();
        usize::from(u16::from_le_bytes([low, high]))
    }

    /// The next use of the place. There are 2^48.
    const fn next(self) -> Self {
        Self(self.0.saturating_add(1 << 16))
    }
}

/// A fixed number of places. It allocates when it is made, and not after.
#[derive(Debug)]
pub(super) struct Table<T> {
    /// Each with its last key.
    places: Vec<(Key, Option<T>)>,
    /// Keys of the last uses of those that are free.
    free: Vec<Key>,
}

impl<T> Table<T> {
    pub(super) fn new(count: u16) -> Self {
        let keys = (0..count).map(Key::new);
        Self { places: keys.clone().map(|key| (key, None)).collect(), free: keys.rev().collect() }
    }

    /// Puts `value` into a free place; `None` if there is none.
    #[inline(always)]
    pub(super) fn insert(&mut self, value: T) -> Option<Key> {
        let key = self.free.pop()?.next();
        let (own, place) = self.places.get_mut(key.index())?;
        *own = key;
        place.get_or_insert_with(|| value);
        Some(key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        match self.places.get(key.index()) {
            Some((own, Some(value))) if *own == key => Some(value),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.places.get_mut(key.index()) {
            Some((own, Some(value))) if *own == key => Some(value),
            _ => None,
        }
    }

    /// Drops a value where it is.
    #[inline]
    pub(super) fn remove(&mut self, key: Key) {
        let Some((own, place)) = self.places.get_mut(key.index()) else { return };
        if *own == key && place.is_some() {
            *place = None;
            self.free.push(key);
        }
    }

    /// Drops a value where it is; what `last` takes of it before is kept.
    #[inline(always)]
    pub(super) fn end<R>(&mut self, key: Key, last: impl FnOnce(&mut T) -> R) -> Option<R> {
        let (own, place) = self.places.get_mut(key.index())?;
        let kept = last(place.as_mut().filter(|_| *own == key)?);
        *place = None;
        self.free.push(key);
        Some(kept)
    }

    /// Takes a value out of its place: one that is not large.
    #[inline]
    pub(super) fn take(&mut self, key: Key) -> Option<T> {
        let (own, place) = self.places.get_mut(key.index())?;
        let value = place.take_if(|_| *own == key)?;
        self.free.push(key);
        Some(value)
    }

    /// How many places are free.
    pub(super) const fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().filter_map(|(key, place)| Some((*key, place.as_ref()?)))
    }

    /// The keys of what `wanted` is true for.
    pub(super) fn keys(&self, mut wanted: impl FnMut(&T) -> bool) -> Vec<Key> {
        self.iter().filter(|(_, value)| wanted(value)).map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_one_use_of_a_place_only() {
        let mut table = Table::new(1);
        let first = table.insert('a').unwrap();
        assert_eq!((table.insert('b'), table.free_count()), (None, 0));
        assert_eq!((table.take(first), table.take(first)), (Some('a'), None));
        assert_eq!((table.get(first), table.free_count()), (None, 1));
        let second = table.insert('c').unwrap();
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'c')));
        assert_eq!(table.keys(|value| *value == 'c'), [second]);
        table.remove(first);
        assert_eq!((table.get(second), table.free_count()), (Some(&'c'), 0));
    }
}
