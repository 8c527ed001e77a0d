use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// The only source of chance of a run: xoshiro256++ from a 64-bit seed, with integer methods that give the same
/// numbers on every machine.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// A generator that is decided by `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An independent generator: drawing from one does not move the other.
    #[must_use]
    pub fn split(&mut self) -> Self {
        Self::new(self.bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product: unbiased enough for choices, and no division.
        let product = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// `true` in `numerator` of `denominator` cases.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// One of `items`.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(u64::try_from(items.len()).unwrap_or(u64::MAX));
        items.get(usize::try_from(at).ok()?)
    }
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
}
