//! The relay between models of a client and of a server, with records of their own.
//!
//! `RELAY_SEEDS=200000` runs so many seeds, `RELAY_SEED=7` that one, with all of its steps on standard error.

mod model;
mod orders;
mod reverse;
mod rig;
mod rules;
mod search;
mod streams;
mod together;

use model::{Ending, Summary, World};
use smbd_testkit::{Breach, every_seed};

/// What the debug build runs in a quarter of a minute.
const SEEDS: u64 = 3000;

/// Broken code fails with most seeds, and some of it slowly.
const FAILURES_MAX: usize = 20;

#[test]
fn every_law_holds_with_every_seed() {
    let mut sum = Summary::default();
    every_seed("RELAY", SEEDS, FAILURES_MAX, |seed, is_loud| {
        let mut world = World::new(seed, is_loud);
        world.run()?;
        sum.add(world.relay.statistics(), world.ending != Ending::Quiet);
        Ok::<_, Breach>(())
    });
    println!("{sum:?}");
    assert!(sum.has_all(&[]) && sum.has_all_refusals(), "something was never tried: {sum:?}");
}
