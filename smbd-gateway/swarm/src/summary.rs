//! What many runs together have done.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_gateway::Ending;
use smbd_sim::swarm::{FaultKind, over_seeds};

use crate::Direction;
use crate::common::Show;
use crate::scene::Report;

/// All runs, summed up.
#[derive(Debug, Default)]
pub struct Summary {
    direction: Direction,
    pub runs: u64,
    /// By seed.
    pub failures: BTreeMap<u64, String>,
    pub done: u64,
    /// How pumps ended.
    pub endings: BTreeMap<String, u64>,
    pub counts: BTreeMap<&'static str, u64>,
    pub faults: BTreeMap<&'static str, u64>,
}

impl Summary {
    pub fn take(&mut self, seed: u64, report: &Report) {
        self.runs += 1;
        self.done += u64::from(report.played.is_done);
        if let Some(breach) = &report.played.breach {
            self.failures.insert(seed, breach.clone());
        }
        let ending =
            report.ending.as_ref().map_or_else(|| "not established".into(), |ending| format!("{ending:?}"));
        let name = ending.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
        *self.endings.entry(name).or_default() += 1;
        for (kind, count) in FaultKind::ALL.iter().zip(&report.played.faults) {
            *self.faults.entry(kind.name()).or_default() += count;
        }
        if let Some(is_killed) = report.is_broker_killed {
            let is_too_long =
                matches!(&report.ending, Some(Ending::Client(why)) if why.contains("do not fit"));
            *self.counts.entry("brokers killed").or_default() += u64::from(is_killed);
            *self.counts.entry("transfers that slots are too few for").or_default() += u64::from(is_too_long);
        }
        let Some(statistics) = &report.statistics else { return };
        let counts = [
            ("requests", statistics.requests.iter().map(|(_, count)| count).sum()),
            ("bytes read by RDMA", statistics.bytes.rdma_read),
            ("bytes written by RDMA", statistics.bytes.rdma_write),
            ("encrypted messages", statistics.encrypted_messages),
            ("signed elements", statistics.signed_elements),
            ("answers taken apart", statistics.split_answers),
            ("READs lowered", statistics.lowered_reads),
            ("requests refused", statistics.refusals.total()),
        ];
        for (name, count) in counts {
            *self.counts.entry(name).or_default() += count;
        }
    }

    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.failures.extend(other.failures);
        self.done += other.done;
        other.endings.into_iter().for_each(|(name, count)| *self.endings.entry(name).or_default() += count);
        other.counts.into_iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
        other.faults.into_iter().for_each(|(name, count)| *self.faults.entry(name).or_default() += count);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, direction: Direction, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let take = |seed: u64, sum: &mut Summary| {
        // What broken code says may be too much for a model.
        match catch_unwind(AssertUnwindSafe(|| direction.run(seed, Show::Nothing))) {
            Ok(report) => sum.take(seed, &report),
            Err(_) => drop(sum.failures.insert(seed, "panic: see above".into())),
        }
    };
    let sum = over_seeds(seeds, None, &take, Summary::merge, done);
    Summary { direction, ..sum }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = [self.counts.iter(), self.faults.iter()];
        for (title, table) in ["carried", "faults"].into_iter().zip(tables) {
            writeln!(f, "{title}")?;
            for (name, count) in table {
                writeln!(f, "  {name:<32} {count:>14}")?;
            }
        }
        writeln!(f, "ends of pumps")?;
        for (name, count) in &self.endings {
            writeln!(f, "  {name:<32} {count:>14}")?;
        }
        writeln!(f, "everything was done: {} runs", self.done)?;
        for (seed, breach) in &self.failures {
            writeln!(f, "seed {seed}: {breach}")?;
            let option = match self.direction {
                Direction::Forward => "",
                Direction::OnBroker => " --on-broker",
                Direction::Reverse => " --reverse",
            };
            writeln!(f, "  cargo run --locked --release -p smbd-gateway-swarm -- --seed {seed}{option}")?;
        }
        let failed = self.failures.len() as u64;
        writeln!(f, "runs: {} passed, {failed} failed", self.runs.saturating_sub(failed))
    }
}
