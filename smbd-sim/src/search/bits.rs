//! A bit for each state.

#[derive(Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// So many that are not set.
    pub(super) fn new(len: u32) -> Self {
        Self(vec![0; (len as usize).div_ceil(64)])
    }

    pub(super) fn get(&self, at: u32) -> bool {
        self.0[at as usize / 64] >> (at % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, at: u32) {
        self.0[at as usize / 64] |= 1 << (at % 64);
    }

    pub(super) fn clear(&mut self, at: u32) {
        self.0[at as usize / 64] &= !(1 << (at % 64));
    }

    /// Those that are set, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let words = (0_u32..).zip(&self.0);
        words.flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| word * 64 + bit)
        })
    }
}
