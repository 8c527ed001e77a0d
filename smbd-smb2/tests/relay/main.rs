//! The relay between models of a client and of a server, with records of their own.
//!
//! `RELAY_SEEDS=200000` runs so many seeds, `RELAY_SEED=7` that one, with all of its steps on standard error.

use std::panic::{AssertUnwindSafe, catch_unwind};

mod model;
mod orders;
mod reverse;
mod rig;
mod rules;
mod search;
mod streams;
mod together;

use model::World;

/// What the debug build runs in a quarter of a minute.
const SEEDS: u64 = 3000;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn every_law_holds_with_every_seed() {
    if let Some(seed) = variable("RELAY_SEED") {
        let mut world = World::new(seed, true);
        let end = world.run();
        panic!("seed {seed}: {end:?}");
    }
    let mut failed = Vec::new();
    let mut sum = model::Summary::default();
    for seed in 0..variable("RELAY_SEEDS").unwrap_or(SEEDS) {
        let mut world = World::new(seed, false);
        // What a broken relay says may be too much for a model.
        match catch_unwind(AssertUnwindSafe(|| world.run())) {
            Ok(Ok(())) => sum.add(&world),
            Ok(Err(breach)) => failed.push(format!("seed {seed}: {breach}")),
            Err(_) => failed.push(format!("seed {seed}: panic")),
        }
        if failed.len() == 20 {
            break;
        }
    }
    println!("{sum:?}");
    assert!(failed.is_empty(), "RELAY_SEED=N shows one:\n{}", failed.join("\n"));
    assert!(sum.has_all(), "something was never tried: {sum:?}");
}
