//! The other way round: models of a client over TCP, a server over SMB Direct and registered memory, with records of their own.
//!
//! `RELAY_SEEDS=200000` runs so many seeds, `RELAY_SEED=7` that one, with all of its steps on standard error.

mod device;
mod driver;
mod orders;
mod rules;
mod world;

use world::{Ending, World};

use crate::FAILURES_MAX;
use crate::model::Summary;
use smbd_testkit::{Breach, every_seed};

/// What the debug build runs in a quarter of a minute. The gate runs 20,000.
const SEEDS: u64 = 3000;

#[test]
fn every_law_holds_with_every_seed() {
    let (mut sum, mut with_channel) = (Summary::default(), 0);
    every_seed("RELAY", SEEDS, FAILURES_MAX, |seed, is_loud| {
        let mut world = World::new(seed, is_loud);
        world.run()?;
        sum.add(world.reverse.statistics(), world.ending != Ending::Quiet);
        with_channel += world.server.with_channel;
        Ok::<_, Breach>(())
    });
    println!("{sum:?}, {with_channel} with a channel");
    assert!(sum.has_all(&[with_channel]), "something was never tried: {sum:?}, {with_channel}");
}
