//! What many runs together have done.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_sim::swarm::{FaultKind, over_seeds};

use crate::Breach;

/// How often there was something, by name.
#[derive(Debug, Default)]
pub struct Counts(pub BTreeMap<String, u64>);

impl Counts {
    /// So many more of these.
    pub fn add(&mut self, name: impl Into<String>, count: u64) {
        *self.0.entry(name.into()).or_default() += count;
    }

    /// How many of these there were; 0 if nobody counted them.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|(name, count)| self.add(name, count));
    }
}

/// One of the tables of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Kinds of runs.
    Kinds,
    /// What was done.
    Counts,
    /// Faults of the simulator.
    Faults,
    /// Why connections ended.
    Endings,
}

/// How a summary is shown.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The program that repeats a seed.
    pub program: &'static str,
    /// Its options, each behind a space.
    pub options: &'static str,
    /// The tables that this swarm fills, in order, with their titles.
    pub tables: &'static [(&'static str, Table)],
    /// What was counted as done: runs, if nothing else is named.
    pub of: Option<&'static str>,
}

/// All runs, summed up.
#[derive(Debug, Default)]
pub struct Summary {
    form: Form,
    /// How many there were.
    pub runs: u64,
    /// How laws were broken, by seed.
    pub failures: BTreeMap<u64, Breach>,
    /// Runs in which everything was done that was planned, or others of which that can be said.
    pub done: u64,
    /// All of these.
    pub wanted: u64,
    /// Kinds of runs.
    pub kinds: Counts,
    /// What was done.
    pub counts: Counts,
    /// Faults of the simulator.
    pub faults: Counts,
    /// Why connections ended.
    pub endings: Counts,
}

impl Summary {
    /// What all runs have: how a law was broken, and faults as the simulator counts them.
    pub fn take(&mut self, seed: u64, breach: Option<&Breach>, faults: &[u64]) {
        self.runs += 1;
        self.failures.extend(breach.map(|breach| (seed, breach.clone())));
        for (kind, count) in FaultKind::ALL.iter().zip(faults) {
            self.faults.add(kind.name(), *count);
        }
    }

    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.failures.extend(other.failures);
        self.done += other.done;
        self.wanted += other.wanted;
        self.kinds.merge(other.kinds);
        self.counts.merge(other.counts);
        self.faults.merge(other.faults);
        self.endings.merge(other.endings);
    }

    fn table(&self, table: Table) -> &Counts {
        match table {
            Table::Kinds => &self.kinds,
            Table::Counts => &self.counts,
            Table::Faults => &self.faults,
            Table::Endings => &self.endings,
        }
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many<R>(
    seeds: Range<u64>,
    form: Form,
    run: impl Fn(u64) -> R + Sync,
    add: impl Fn(&mut Summary, u64, &R) + Sync,
    done: &(dyn Fn(u64) + Sync),
) -> Summary {
    let take = |seed: u64, sum: &mut Summary| {
        // What broken code says may be too much for a model.
        match catch_unwind(AssertUnwindSafe(|| run(seed))) {
            Ok(report) => add(sum, seed, &report),
            Err(_) => sum.take(seed, Some(&"panic: see above".into()), &[]),
        }
    };
    let sum = over_seeds(seeds, None, &take, Summary::merge, done);
    Summary { form, ..sum }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { form, runs, failures, done, wanted, .. } = self;
        for (title, table) in form.tables {
            writeln!(f, "{title}")?;
            for (name, count) in &self.table(*table).0 {
                writeln!(f, "  {name:<64} {count:>14}")?;
            }
        }
        match form.of {
            None => writeln!(f, "everything was done: {done} runs")?,
            Some(of) => writeln!(f, "{of}: {wanted}, of which {done} have done all they wanted")?,
        }
        for (seed, breach) in failures {
            writeln!(f, "seed {seed}: {breach}")?;
            let Form { program, options, .. } = form;
            writeln!(f, "  cargo run --locked --profile lab -p {program} -- --seed {seed}{options}")?;
        }
        let failed = failures.len() as u64;
        writeln!(f, "runs: {} passed, {failed} failed", runs.saturating_sub(failed))
    }
}
