use alloc::boxed::Box;

use super::super::copy::{common, word};

/// Bits of a hash.
const HASH_BITS: u32 = 14;
const ENTRIES: usize = 1 << HASH_BITS;
/// Places that are remembered: the longest distance is one less (MS-XCA 2.1.4.1).
const WINDOW: usize = 65536;
/// How many earlier places are looked at.
const DEPTH: u32 = 6;
/// A match of this length is taken without a look at the next place.
const LAZY_MAX: usize = 24;
/// The shortest match that is worth its code.
const LENGTH_MIN: usize = 4;

/// A match.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Match {
    pub(super) length: usize,
    pub(super) distance: usize,
}

/// Where words were seen, and where before. 160 KiB.
#[derive(Debug)]
pub(super) struct Matches {
    /// By hash: the last place, modulo 65536.
    heads: Box<[u16; ENTRIES]>,
    /// By place, modulo 65536: how far before it the same hash was; 0 if nowhere.
    chains: Box<[u16; WINDOW]>,
}

impl Matches {
    pub(super) fn new() -> Self {
        let chains = alloc::vec![0_u16; WINDOW].into_boxed_slice();
        Self {
            heads: Box::new([0; ENTRIES]),
            chains: chains.try_into().unwrap_or_else(|_| Box::new([0; WINDOW])),
        }
    }

    /// Forgets all places.
    pub(super) fn clear(&mut self) {
        self.heads.fill(0);
        self.chains.fill(0);
    }

    /// The longest match at a place that ends before `end`, longer than `least`; notes the place.
    #[inline(always)]
    pub(super) fn find(&mut self, plain: &[u8], at: usize, end: usize, least: usize) -> Option<Match> {
        let bytes = word(plain, at)?;
        let mut step = self.link(bytes, at)?;
        let (mut best, mut distance) = (Match { length: least, distance: 0 }, 0_usize);
        for _ in 0..DEPTH {
            distance = distance.wrapping_add(step.into());
            let Some(source) = at.checked_sub(distance).filter(|_| step > 0 && distance < WINDOW) else {
                break;
            };
            // The byte that would make it longer, first.
            let is_longer =
                plain.get(source.wrapping_add(best.length)) == plain.get(at.wrapping_add(best.length));
            if is_longer && word(plain, source) == Some(bytes) {
                let length = common(plain, source, at, end);
                if length > best.length {
                    best = Match { length, distance };
                    if at.wrapping_add(length) >= end {
                        break;
                    }
                }
            }
            step = *self.chains.get(source & (WINDOW - 1))?;
        }
        (best.distance > 0 && best.length >= LENGTH_MIN).then_some(best)
    }

    /// Notes a place; how far before it the same hash was.
    #[inline(always)]
    fn link(&mut self, bytes: u32, at: usize) -> Option<u16> {
        let head = self.heads.get_mut((bytes.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize)?;
        let step = (at as u16).wrapping_sub(*head);
        *head = at as u16;
        *self.chains.get_mut(at & (WINDOW - 1))? = step;
        Some(step)
    }

    /// Notes places that a match covers.
    #[inline(always)]
    pub(super) fn pass(&mut self, plain: &[u8], from: usize, to: usize) {
        for at in from..to {
            let Some(bytes) = word(plain, at) else { return };
            self.link(bytes, at);
        }
    }
}

/// Whether the next place may have a better match than this one.
#[inline(always)]
pub(super) fn is_short(found: &Match) -> bool {
    found.length < LAZY_MAX
}
