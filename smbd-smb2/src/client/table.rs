//! A table of a fixed size, whose places are named by an index and a generation.

use alloc::vec::Vec;

/// A place, and which of its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    index: u16,
    generation: u32,
}

/// A fixed number of places. It allocates when it is made, and not after.
#[derive(Debug)]
pub(super) struct Table<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u16>,
}

impl<T> Table<T> {
    pub(super) fn new(count: u16) -> Self {
        Self { places: (0..count).map(|_| (0, None)).collect(), free: (0..count).rev().collect() }
    }

    /// Puts `value` into a free place; `None` if there is none.
    #[inline]
    pub(super) fn insert(&mut self, value: T) -> Option<Key> {
        let index = self.free.pop()?;
        let (generation, place) = self.places.get_mut(usize::from(index))?;
        *generation = generation.wrapping_add(1);
        *place = Some(value);
        Some(Key { index, generation: *generation })
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let (generation, place) = self.places.get(usize::from(key.index))?;
        place.as_ref().filter(|_| *generation == key.generation)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let (generation, place) = self.places.get_mut(usize::from(key.index))?;
        place.as_mut().filter(|_| *generation == key.generation)
    }

    /// Drops a value where it is.
    pub(super) fn remove(&mut self, key: Key) {
        let Some((generation, place)) = self.places.get_mut(usize::from(key.index)) else { return };
        if *generation == key.generation && place.is_some() {
            *place = None;
            self.free.push(key.index);
        }
    }

    /// How many places are free.
    pub(super) const fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().zip(0..).filter_map(|((generation, place), index)| {
            Some((Key { index, generation: *generation }, place.as_ref()?))
        })
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
        table.remove(first);
        table.remove(first);
        assert_eq!((table.get(first), table.free_count()), (None, 1));
        let second = table.insert('c').unwrap();
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'c')));
        assert_eq!(table.keys(|value| *value == 'c'), [second]);
        table.remove(first);
        assert_eq!((table.get(second), table.free_count()), (Some(&'c'), 0));
    }
}
