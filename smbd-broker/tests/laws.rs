//! The laws of a broker, with owners and clients that do what they like, and a model with records of its own.
//!
//! `BROKER_SEEDS=200000` runs so many seeds, `BROKER_SEED=7` that one, with all of its steps on standard error.

use smbd_testkit::broker::{Tape, World};
use smbd_testkit::every_seed;

/// What the debug build runs in some seconds.
const SEEDS: u64 = 500;

/// Bytes of a seed (SplitMix64).
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (value ^ (value >> 31)).to_le_bytes()
    };
    (0..250).flat_map(|_| next()).collect()
}

#[test]
fn every_law_holds_with_every_seed() {
    every_seed("BROKER", SEEDS, usize::MAX, |seed, is_loud| World::new(Tape(&bytes(seed)), is_loud).run());
}
