//! Bytes that both sides can generate and check, and the hash that they compare.

use bytes::Bytes;
use twox_hash::XxHash3_64;

/// Increment and mixing of SplitMix64 (Steele, Lea, Flood 2014): any word of the sequence is found from its position.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Fills `out` with the bytes of the pattern of `seed` from byte `offset` on. Each 8 bytes depend on their position, so
/// lost, repeated and misplaced bytes are detected.
pub fn fill_pattern(seed: u64, offset: u64, out: &mut [u8]) {
    let start = mix(seed.wrapping_add(GOLDEN));
    let word = |index: u64| mix(start.wrapping_add(index.wrapping_mul(GOLDEN))).to_le_bytes();
    // 0 to 7: where in the first word the bytes begin.
    let within = usize::from(offset.to_le_bytes()[0] & 7);
    let mut index = offset / 8;
    let (first, rest) = out.split_at_mut(if within == 0 { 0 } else { (8 - within).min(out.len()) });
    if !first.is_empty() {
        first.copy_from_slice(&word(index)[within..within + first.len()]);
        index = index.wrapping_add(1);
    }
    let (whole, last) = rest.as_chunks_mut::<8>();
    for to in whole {
        *to = word(index);
        index = index.wrapping_add(1);
    }
    let end = last.len();
    last.copy_from_slice(&word(index)[..end]);
}

/// The first `len` bytes of the pattern of `seed`.
#[must_use]
pub fn pattern(seed: u64, len: usize) -> Bytes {
    let mut bytes = vec![0; len];
    fill_pattern(seed, 0, &mut bytes);
    bytes.into()
}

/// A hash (XXH3, 64 bits, seed 0) of bytes that are given in pieces. It does not depend on the pieces.
#[derive(Clone)]
pub struct Digest(XxHash3_64);

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Digest({:016x})", self.value())
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self(XxHash3_64::new())
    }
}

impl Digest {
    /// Adds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        std::hash::Hasher::write(&mut self.0, bytes);
    }

    /// The hash of all bytes so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        std::hash::Hasher::finish(&self.0)
    }
}

/// The hash of `bytes`.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pattern_is_the_same_for_ever() {
        let mut bytes = [0; 20];
        fill_pattern(7, 0, &mut bytes);
        insta::assert_snapshot!(format!("{bytes:02x?}"));
        assert_eq!(digest(b""), 0x2d06_8005_38d3_94c2, "published value of XXH3 for no bytes");
    }

    #[test]
    fn seeds_next_to_each_other_have_nothing_in_common() {
        let (one, two) = (pattern(1, 4096), pattern(2, 4096));
        assert!(one.windows(8).all(|word| two.windows(8).all(|other| word != other)));
    }

    proptest! {
        #[test]
        fn a_pattern_filled_in_pieces_is_the_pattern(seed: u64, cuts in proptest::collection::vec(0..40_usize, 0..9)) {
            let len = cuts.iter().sum();
            let mut pieces = vec![0; len];
            let (mut rest, mut offset) = (pieces.as_mut_slice(), 0);
            let mut hash = Digest::default();
            for cut in cuts {
                let (piece, behind) = rest.split_at_mut(cut);
                fill_pattern(seed, offset, piece);
                hash.update(piece);
                rest = behind;
                offset += cut as u64;
            }
            prop_assert_eq!(hash.value(), digest(&pieces));
            prop_assert_eq!(pieces, pattern(seed, len));
        }
    }
}
