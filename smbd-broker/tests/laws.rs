//! The laws of a broker, with owners and clients that do what they like, and a model with records of its own.
//!
//! `BROKER_SEEDS=200000` runs so many seeds, `BROKER_SEED=7` that one, with all of its steps on standard error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_testkit::broker::{Tape, World};

/// What the debug build runs in some seconds.
const SEEDS: u64 = 500;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

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
    if let Some(seed) = variable("BROKER_SEED") {
        let bytes = bytes(seed);
        let end = World::new(Tape(&bytes), true).run();
        panic!("seed {seed}: {end:?}");
    }
    let mut failed = Vec::new();
    for seed in 0..variable("BROKER_SEEDS").unwrap_or(SEEDS) {
        let bytes = bytes(seed);
        match catch_unwind(AssertUnwindSafe(|| World::new(Tape(&bytes), false).run())) {
            Ok(Ok(())) => {}
            Ok(Err(breach)) => failed.push(format!("seed {seed}: {breach}")),
            Err(_) => failed.push(format!("seed {seed}: panic")),
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}
