//! The only source of chance: SplitMix64, from a seed.

#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// A number from `least` to `most`, more often a small one.
    pub fn size(&mut self, least: usize, most: usize) -> usize {
        let range = most - least + 1;
        let range = if self.one_in(3) { range } else { range.div_ceil(8) };
        least + self.below(range)
    }

    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// How often each of some things happens, for a while.
    pub fn mood<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| if self.one_in(4) { 0 } else { self.size(1, 12) })
    }

    /// One of them; `None` if none happens.
    pub fn weighted(&mut self, mood: &[usize]) -> Option<usize> {
        let total: usize = mood.iter().sum();
        let mut drawn = self.below(total.max(1));
        mood.iter().position(|weight| {
            let is_it = drawn < *weight;
            drawn = drawn.wrapping_sub(*weight);
            is_it
        })
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
