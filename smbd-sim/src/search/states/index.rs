//! Where a state is: a hash table of numbers, a bucket of which has the size of a cache line.
//!
//! A number comes into the first bucket with room, from that of its hash on. Nothing is ever taken out, so a bucket with
//! room ends every search. The table has many parts, which grow one by one and by half: it is more than half
//! full at any time, and little of it is there twice while it grows.

use super::{ABREAST, Key, Keys};

/// Numbers in a bucket.
const ROOM: usize = 12;
/// Parts: 2 to the power of this.
const PARTS_LOG: u32 = 6;

/// The lowest bit of each byte.
const ONES: u128 = u128::MAX / 0xff;
/// All but the highest.
const LOW: u128 = ONES * 0x7f;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    numbers: [u32; ROOM],
    /// Eight bits of each hash: most others are told apart by these. Behind them is how many there are.
    tags: [u8; 16],
}

impl Bucket {
    const fn len(&self) -> usize {
        self.tags[ROOM] as usize
    }

    /// Places whose hash may be this one: the highest bit of the byte of each. All bytes are compared at once; no sum is carried
    /// from one to the next.
    fn like(&self, tag: u8) -> Like {
        let other = u128::from_le_bytes(self.tags) ^ (ONES * u128::from(tag));
        let same = !(((other & LOW) + LOW) | other | LOW);
        Like(same & ((1 << (8 * self.len())) - 1))
    }

    const fn is_full(&self) -> bool {
        self.len() == ROOM
    }

    fn push(&mut self, tag: u8, number: u32) {
        let at = self.len();
        self.numbers[at] = number;
        self.tags[at] = tag;
        self.tags[ROOM] += 1;
    }
}

#[derive(Clone, Copy, Debug)]
struct Like(u128);

impl Iterator for Like {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8)?;
        self.0 &= self.0 - 1;
        Some(at)
    }
}

/// A hash, cut to pieces.
#[derive(Clone, Copy, Debug, Default)]
struct Hash {
    part: usize,
    bucket: u32,
    tag: u8,
}

impl Hash {
    /// Each bit of a key has an influence on each of the hash, and different keys have different ones before it is cut.
    const fn of(key: Key) -> Self {
        let mut bits = key.bits();
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        Self {
            part: (bits >> (64 - PARTS_LOG)) as usize,
            bucket: (bits >> (32 - PARTS_LOG)) as u32,
            tag: bits.to_le_bytes()[0],
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Part {
    buckets: Vec<Bucket>,
    len: usize,
}

impl Part {
    /// Where a search begins.
    fn home(&self, hash: Hash) -> usize {
        ((u64::from(hash.bucket) * self.buckets.len() as u64) >> 32) as usize
    }

    /// The number of a key, or the bucket in which there is room for it.
    fn find(&self, keys: &Keys, key: Key, hash: Hash) -> Result<u32, usize> {
        let mut at = self.home(hash);
        loop {
            let bucket = &self.buckets[at];
            for place in bucket.like(hash.tag) {
                let number = bucket.numbers[place];
                if keys.at(number) == key {
                    return Ok(number);
                }
            }
            if !bucket.is_full() {
                return Err(at);
            }
            at = self.after(at);
        }
    }

    const fn after(&self, at: usize) -> usize {
        if at + 1 == self.buckets.len() { 0 } else { at + 1 }
    }

    /// One place in eight stays free.
    const fn is_full(&self) -> bool {
        self.len * 8 >= self.buckets.len() * ROOM * 7
    }

    fn grow(&mut self, keys: &Keys) {
        let buckets = vec![Bucket::default(); self.buckets.len() * 3 / 2 + 1];
        let old = std::mem::replace(&mut self.buckets, buckets);
        for bucket in &old {
            let numbers = &bucket.numbers[..bucket.len()];
            // All are read before the first is put anywhere.
            let mut hashes = [Hash::default(); ROOM];
            for (hash, number) in hashes.iter_mut().zip(numbers) {
                *hash = Hash::of(keys.at(*number));
            }
            for (hash, number) in hashes.iter().zip(numbers) {
                let mut at = self.home(*hash);
                while self.buckets[at].is_full() {
                    at = self.after(at);
                }
                self.buckets[at].push(hash.tag, *number);
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Index {
    parts: Vec<Part>,
}

impl Default for Index {
    fn default() -> Self {
        Self { parts: vec![Part { buckets: vec![Bucket::default()], len: 0 }; 1 << PARTS_LOG] }
    }
}

impl Index {
    pub(super) fn find(&self, keys: &Keys, key: Key) -> Option<u32> {
        let hash = Hash::of(key);
        self.parts[hash.part].find(keys, key, hash).ok()
    }

    /// Marks those of some keys that are there, except a few that may be: what it takes to see these is not read.
    pub(super) fn look(&self, keys: &Keys, some: &[Key], known: &mut [bool; ABREAST]) {
        let mut likely = [None; ABREAST];
        // No reading waits for another one here, nor in the second loop.
        for (likely, key) in likely.iter_mut().zip(some) {
            let hash = Hash::of(*key);
            let part = &self.parts[hash.part];
            let bucket = &part.buckets[part.home(hash)];
            *likely = bucket.like(hash.tag).next().map(|place| bucket.numbers[place]);
        }
        for ((known, likely), key) in known.iter_mut().zip(likely).zip(some) {
            *known = likely.is_some_and(|number| keys.at(number) == *key);
        }
    }

    /// Adds a key, unless it is there.
    pub(super) fn insert(&mut self, keys: &mut Keys, key: Key) {
        let hash = Hash::of(key);
        let part = &mut self.parts[hash.part];
        let Err(mut at) = part.find(keys, key, hash) else { return };
        if part.is_full() {
            part.grow(keys);
            let Err(room) = part.find(keys, key, hash) else { return };
            at = room;
        }
        part.buckets[at].push(hash.tag, keys.push(key));
        part.len += 1;
    }

    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.buckets.len() * size_of::<Bucket>()).sum()
    }
}
