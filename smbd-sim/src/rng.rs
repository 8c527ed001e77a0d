use std::sync::Arc;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// The only source of chance of a run: xoshiro256++ from a 64-bit seed, with integer methods that give the same
/// numbers on every machine. Or bytes, which a fuzzer chooses.
#[derive(Clone, Debug)]
pub struct Rng(Source);

#[derive(Clone, Debug)]
enum Source {
    Seed(Xoshiro256PlusPlus),
    Tape(Tape),
}

/// Bytes that are numbers, each as short as its bound allows, so that a change of one byte is a change of one choice.
#[derive(Clone, Debug)]
struct Tape {
    bytes: Arc<[u8]>,
    at: usize,
    /// Goes on when the bytes are used up.
    then: Xoshiro256PlusPlus,
}

impl Tape {
    /// A number of so many bytes, little-endian.
    fn number(&mut self, bytes: usize) -> u64 {
        let Some(taken) = self.bytes.get(self.at..self.at + bytes) else {
            self.at = self.bytes.len();
            return self.then.next_u64();
        };
        self.at += bytes;
        taken.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl Rng {
    /// A generator that is decided by `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Source::Seed(Xoshiro256PlusPlus::seed_from_u64(seed)))
    }

    /// A generator whose numbers are `bytes`; when they are used up, those of seed 0.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(Source::Tape(Tape { bytes: bytes.into(), at: 0, then: Xoshiro256PlusPlus::seed_from_u64(0) }))
    }

    /// An independent generator: drawing from one does not move the other.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::new(self.bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Source::Seed(seeded) => seeded.next_u64(),
            Source::Tape(tape) => tape.number(8),
        }
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        match &mut self.0 {
            Source::Seed(seeded) => {
                // The high half of a 128-bit product: unbiased enough for choices, and no division.
                let product = u128::from(seeded.next_u64()) * u128::from(bound);
                u64::try_from(product >> 64).unwrap_or(0)
            }
            Source::Tape(tape) => {
                let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
                tape.number(bits.div_ceil(8) as usize).checked_rem(bound).unwrap_or(0)
            }
        }
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// `true` in `numerator` of `denominator` cases.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// One of `items`, of which there is at least one.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[usize::try_from(self.below(items.len() as u64)).unwrap_or(0)]
    }

    /// A number up to `most`, small ones as often as great ones.
    pub(crate) fn log_uniform(&mut self, most: u64) -> u64 {
        let bits = u64::from(u64::BITS - most.max(1).leading_zeros());
        let shift = self.below(bits + 1);
        self.below((1_u64 << shift.min(63)).min(most) + 1)
    }

    /// A time that is shorter than `bound`, in whole nanoseconds.
    pub(crate) fn time_below(&mut self, bound: Duration) -> Duration {
        Duration::from_nanos(self.below(nanos(bound)))
    }

    /// A time up to `most` in whole nanoseconds, short ones as often as long ones.
    pub(crate) fn time(&mut self, most: Duration) -> Duration {
        Duration::from_nanos(self.log_uniform(nanos(most)))
    }
}

/// A time in nanoseconds, as long as there can be.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        // xoshiro256++ seeded by splitmix64 from 0: first output of the reference implementation.
        assert_eq!(Rng::new(0).bits(), 0x53175d61490b23df);
    }

    #[test]
    fn choices_stay_in_range_and_reach_both_ends() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u64> = (0..200).map(|_| rng.between(3, 5)).collect();
        assert!(drawn.iter().all(|n| (3..=5).contains(n)));
        assert!([3, 4, 5].iter().all(|n| drawn.contains(n)));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn bytes_are_choices_until_they_are_used_up() {
        let mut rng = Rng::from_bytes(&[7, 0x34, 0x12, 9, 200]);
        assert_eq!(rng.below(1), 0, "no choice, no byte");
        assert_eq!(rng.below(10), 7);
        assert_eq!(rng.below(0x10000), 0x1234);
        assert!(rng.chance(10, 11), "9 of 11");
        // Half a number is none.
        let mut seeded = Rng::new(0);
        assert_eq!(rng.below(0x10000), seeded.bits() % 0x10000);
        assert_eq!(rng.bits(), seeded.bits());
    }
}
