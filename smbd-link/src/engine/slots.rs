//! A table of connections. A key is never used twice.

use std::vec::Vec;

/// The key of a connection in an engine. An engine does not use it again for another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub(super) slot: usize,
    generation: u64,
}

/// A table of slots. It grows with the number of values that are in it at the same time.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Vec<Option<(u64, T)>>,
    free: Vec<usize>,
    next_generation: u64,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), next_generation: 0 }
    }
}

impl<T> Slots<T> {
    pub(super) fn len(&self) -> usize {
        self.places.len().saturating_sub(self.free.len())
    }

    pub(super) fn insert(&mut self, value: T) -> Key {
        let generation = self.next_generation;
        self.next_generation = generation.wrapping_add(1);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len().saturating_sub(1)
        });
        if let Some(place) = self.places.get_mut(slot) {
            *place = Some((generation, value));
        }
        Key { slot, generation }
    }

    pub(super) fn remove(&mut self, slot: usize) -> Option<(Key, T)> {
        let (generation, value) = self.places.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some((Key { slot, generation }, value))
    }

    /// Removes and returns all values.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.free.clear();
        self.places.drain(..).flatten().map(|(_, value)| value)
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let (generation, value) = self.places.get(key.slot)?.as_ref()?;
        (*generation == key.generation).then_some(value)
    }

    pub(super) fn at(&self, slot: usize) -> Option<&T> {
        self.places.get(slot)?.as_ref().map(|(_, value)| value)
    }

    pub(super) fn at_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.places.get_mut(slot)?.as_mut().map(|(_, value)| value)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.places.iter().enumerate().filter_map(|(slot, place)| {
            place.as_ref().map(|(generation, _)| Key { slot, generation: *generation })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn a_place_is_used_again_under_another_name() {
        let mut slots = Slots::default();
        let first = slots.insert("first");
        assert_eq!(slots.remove(first.slot), Some((first, "first")));
        assert_eq!(slots.remove(first.slot), None);
        let second = slots.insert("second");
        assert_eq!(second.slot, first.slot);
        assert_eq!((slots.get(first), slots.get(second)), (None, Some(&"second")));
        assert_eq!((slots.len(), slots.keys().collect::<Vec<_>>()), (1, vec![second]));
    }
}
