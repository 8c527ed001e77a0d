//! Long runs: a day of virtual time. At the end all resources have to be as at the beginning.

mod idle;
mod loaded;
mod stock;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::Run;
use crate::oracle::{Failure, Law};
use crate::upper::Carried;

pub use idle::{Idle, idle};
pub use loaded::{Loaded, loaded};
pub use stock::Stock;

/// Longer than anything takes that is still to happen when both sides have drained.
const LAST: Duration = Duration::from_secs(60);

/// What came of a long run.
#[derive(Clone, Debug)]
pub struct Soaked {
    /// The law that was broken.
    pub failure: Option<Failure>,
    /// Virtual time it lasted.
    pub time: Duration,
    /// Connections, one after the other.
    pub connections: u32,
    /// Messages that left after negotiation, by side, initiator first.
    pub sent: [u64; 2],
    /// What was carried, each byte compared.
    pub carried: Carried,
    /// Faults that happened.
    pub faults: u64,
    /// How often a law was looked at.
    pub laws: u64,
    /// Steps of the world.
    pub steps: u64,
    /// What was in use before the first connection, and after the last.
    pub in_use: [Stock; 2],
    /// Sizes of tables that only grow, after a part of the time and in the end: 0 is not expected of them, but that they
    /// do not go on.
    pub tables: [usize; 2],
}

impl Soaked {
    fn of<F: crate::probe::Probe>(run: &mut Run<'_, F>, began: Stock, tables: usize) -> Self {
        // What was on its way when both sides were through with each other.
        let until = run.world.now().saturating_add(LAST);
        run.steps_until(until, |_| false);
        let in_use = [began, Stock::of(run)];
        run.check(Law::Leaks, in_use[0] == in_use[1], crate::Side::Initiator, || {
            format!("in use before: {}; in the end: {}", in_use[0], in_use[1])
        });
        let faults = run.world.faults_mut().counts().iter().sum();
        let carried = run.workload.borrow().carried;
        let watch = run.world.probe();
        let verdicts = watch.oracles.verdicts();
        Self {
            failure: verdicts.failure().cloned(),
            time: run.world.now().saturating_since(smbd_core::Instant::ORIGIN),
            connections: run.connections,
            sent: watch.counter.sent,
            carried,
            faults,
            laws: Law::ALL.iter().map(|law| verdicts.count(*law)).sum(),
            steps: run.world.steps(),
            in_use,
            tables: [tables, stock::tables(run)],
        }
    }
}
