//! All states found, each of them once and by number, in little memory: eight bytes for what it is, and six to nine for
//! finding it again.

mod index;
#[cfg(test)]
mod tests;

use super::key::Key;
use index::Index;

/// How many states are kept together: so much is asked for at a time, and nothing is moved when more are found.
const CHUNK: usize = 1 << 18;
/// States that are looked up side by side: so the processor waits for their memory once and not for each.
const ABREAST: usize = 32;

/// States by number, in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct States {
    keys: Keys,
    index: Index,
}

impl States {
    /// Most states that can be numbered.
    pub(super) const MAX: usize = u32::MAX as usize;

    pub(super) fn len(&self) -> usize {
        self.keys.len
    }

    /// How many there are, as a number of them.
    pub(super) fn end(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn key(&self, state: u32) -> Key {
        self.keys.at(state)
    }

    /// At most `most` of them, numbered from `from` on.
    pub(super) fn from(&self, from: u32, most: usize) -> Vec<Key> {
        let end = self.end().min(from.saturating_add(u32::try_from(most).unwrap_or(u32::MAX)));
        (from..end).map(|state| self.key(state)).collect()
    }

    /// The number of a state that was found.
    pub(super) fn number(&self, key: Key) -> Option<u32> {
        self.index.find(&self.keys, key)
    }

    /// Adds those that are new, in their order.
    pub(super) fn insert_all(&mut self, keys: &[Key]) {
        for some in keys.chunks(ABREAST) {
            let mut known = [false; ABREAST];
            self.index.look(&self.keys, some, &mut known);
            for (key, known) in some.iter().zip(known) {
                if !known {
                    self.index.insert(&mut self.keys, *key);
                }
            }
        }
    }

    /// Bytes taken.
    pub(super) fn bytes(&self) -> u64 {
        let keys = self.keys.chunks.len() * CHUNK * size_of::<Key>();
        (keys + self.index.bytes()) as u64
    }
}

#[derive(Debug, Default)]
struct Keys {
    chunks: Vec<Vec<Key>>,
    len: usize,
}

impl Keys {
    fn at(&self, number: u32) -> Key {
        let number = number as usize;
        self.chunks[number / CHUNK][number % CHUNK]
    }

    fn push(&mut self, key: Key) -> u32 {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let number = u32::try_from(self.len).unwrap_or(u32::MAX);
        if let Some(last) = self.chunks.last_mut() {
            last.push(key);
        }
        self.len += 1;
        number
    }
}
