//! What many runs together have done.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_sim::swarm::{FaultKind, over_seeds};

use crate::run::{Report, run};

/// All runs, summed up.
#[derive(Debug, Default)]
pub struct Summary {
    pub runs: u64,
    /// By seed.
    pub failures: BTreeMap<u64, String>,
    /// Clients, and those that have done all they wanted.
    pub clients: [u64; 2],
    pub counts: BTreeMap<&'static str, u64>,
    pub faults: BTreeMap<&'static str, u64>,
}

impl Summary {
    pub fn take(&mut self, seed: u64, report: &Report) {
        self.runs += 1;
        if let Some(breach) = &report.breach {
            self.failures.insert(seed, breach.clone());
        }
        self.clients[0] += report.clients as u64;
        self.clients[1] += report.done as u64;
        let kind = if report.is_gentle { "runs without an end of a connection" } else { "runs with trouble" };
        let turns = ("turns", u64::from(report.turns));
        for (name, count) in report.counts.iter().copied().chain([(kind, 1), turns]) {
            *self.counts.entry(name).or_default() += count;
        }
        for (kind, count) in FaultKind::ALL.iter().zip(&report.faults) {
            *self.faults.entry(kind.name()).or_default() += count;
        }
    }

    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.failures.extend(other.failures);
        self.clients.iter_mut().zip(other.clients).for_each(|(sum, more)| *sum += more);
        other.counts.into_iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
        other.faults.into_iter().for_each(|(name, count)| *self.faults.entry(name).or_default() += count);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let take = |seed: u64, sum: &mut Summary| {
        // What broken code says may be too much for a model.
        match catch_unwind(AssertUnwindSafe(|| run(seed, false))) {
            Ok(report) => sum.take(seed, &report),
            Err(_) => {
                sum.runs += 1;
                sum.failures.insert(seed, "panic: see above".into());
            }
        }
    };
    over_seeds(seeds, None, &take, Summary::merge, done)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = [self.counts.iter(), self.faults.iter()];
        for (title, table) in ["what was done", "faults"].into_iter().zip(tables) {
            writeln!(f, "{title}")?;
            for (name, count) in table {
                writeln!(f, "  {name:<40} {count:>14}")?;
            }
        }
        let [clients, done] = self.clients;
        writeln!(f, "clients: {clients}, of which {done} have done all they wanted")?;
        for (seed, breach) in &self.failures {
            writeln!(f, "seed {seed}: {breach}")?;
            writeln!(f, "  cargo run --locked --profile lab -p smbd-broker-swarm -- --seed {seed}")?;
        }
        let failed = self.failures.len() as u64;
        writeln!(f, "runs: {} passed, {failed} failed", self.runs.saturating_sub(failed))
    }
}
