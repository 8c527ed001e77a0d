//! Where a state is: a hash table of numbers, a bucket of which has the size of a cache line.
//!
//! A number comes into the first bucket with room, from that of its hash on. Nothing is ever taken out, so a bucket with
//! room ends every search. The table has many parts, which grow one by one and by a quarter: it is more than two thirds
//! full at any time, and little of it is there twice while it grows.

use super::{ABREAST, Key, Keys};

/// Numbers in a bucket.
const ROOM: usize = 12;
/// Parts: 2 to the power of this.
const PARTS_LOG: u32 = 6;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket {
    numbers: [u32; ROOM],
    /// Eight bits of each hash: most others are told apart by these.
    tags: [u8; ROOM],
    len: u8,
}

impl Bucket {
    /// Places whose hash may be this one, by bits.
    fn like(&self, tag: u8) -> u16 {
        let mut like = 0;
        for (at, other) in self.tags.iter().enumerate() {
            like |= u16::from(*other == tag) << at;
        }
        like & ((1 << self.len) - 1)
    }

    const fn is_full(&self) -> bool {
        self.len as usize == ROOM
    }

    fn push(&mut self, tag: u8, number: u32) {
        let at = usize::from(self.len);
        self.numbers[at] = number;
        self.tags[at] = tag;
        self.len += 1;
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
        (u64::from(hash.bucket) * self.buckets.len() as u64 >> 32) as usize
    }

    /// The number of a key, or the bucket in which there is room for it.
    fn find(&self, keys: &Keys, key: Key, hash: Hash) -> Result<u32, usize> {
        let mut at = self.home(hash);
        loop {
            let bucket = &self.buckets[at];
            let mut like = bucket.like(hash.tag);
            while like != 0 {
                let number = bucket.numbers[like.trailing_zeros() as usize];
                if keys.at(number) == key {
                    return Ok(number);
                }
                like &= like - 1;
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

    /// One part in eight stays free.
    const fn is_full(&self) -> bool {
        self.len >= self.buckets.len() * (ROOM - ROOM / 8) - self.buckets.len() / 2
    }

    fn grow(&mut self, keys: &Keys) {
        let buckets = vec![Bucket::default(); self.buckets.len() * 5 / 4 + 2];
        let old = std::mem::replace(&mut self.buckets, buckets);
        for bucket in &old {
            let numbers = &bucket.numbers[..usize::from(bucket.len)];
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
            let like = bucket.like(hash.tag);
            if like != 0 {
                *likely = Some(bucket.numbers[like.trailing_zeros() as usize]);
            }
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
