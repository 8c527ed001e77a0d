//! What many runs together have done.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_sim::Side;
use smbd_sim::swarm::{FaultKind, over_seeds};

use crate::common::Show;
use crate::run::{Report, run};

/// All runs, summed up.
#[derive(Debug, Default)]
pub struct Summary {
    pub runs: u64,
    /// By seed.
    pub failures: BTreeMap<u64, String>,
    pub done: u64,
    /// How many runs there were of each kind.
    pub kinds: BTreeMap<String, u64>,
    pub counts: BTreeMap<&'static str, u64>,
    pub faults: BTreeMap<&'static str, u64>,
    /// Why connections ended, without the numbers.
    pub endings: BTreeMap<String, u64>,
}

/// A reason in general: without what is different each time.
fn general(reason: &str) -> String {
    let words = reason.split(['(', ':']).next().unwrap_or_default().split_whitespace();
    let plain = words.filter(|word| !word.chars().any(|letter| letter.is_ascii_digit()));
    plain.take(9).collect::<Vec<_>>().join(" ")
}

impl Summary {
    pub fn take(&mut self, seed: u64, report: &Report) {
        self.runs += 1;
        self.done += u64::from(report.played.is_done);
        if let Some(breach) = &report.played.breach {
            self.failures.insert(seed, breach.clone());
        }
        let plan = &report.plan;
        let protection = &plan.protection;
        let way = match (protection.client_encrypts || protection.server_encrypts, protection.is_whole()) {
            (true, _) => "encrypted",
            (false, true) => "signed",
            (false, false) => "plain",
        };
        let is_changed =
            report.counts.iter().any(|(name, count)| name.starts_with("data changed") && *count > 0);
        let way = if is_changed { format!("{way}, data are changed on their way") } else { way.to_owned() };
        let mischief = match plan.mischief {
            Some(mischief) => {
                let side = if mischief.of == Side::Initiator { "client" } else { "server" };
                let when = if mischief.is_insider { "before" } else { "after" };
                format!(", the {side}'s messages are changed {when} they are protected")
            }
            None => String::new(),
        };
        let carriers = match &plan.channels {
            Some(channels) => channels.carriers.map(|carrier| format!("{carrier:?}")).join(" and "),
            None => format!("{:?}", plan.carrier),
        };
        let kinds = [format!("{carriers}, {way}{mischief}"), format!("dialect {}", protection.dialect)];
        for kind in kinds {
            *self.kinds.entry(kind).or_default() += 1;
        }
        for (name, count) in &report.counts {
            *self.counts.entry(name).or_default() += count;
        }
        for (kind, count) in FaultKind::ALL.iter().zip(&report.played.faults) {
            *self.faults.entry(kind.name()).or_default() += count;
        }
        for (who, ending) in [("client", &report.client_ended), ("server", &report.server_ended)] {
            let ending = ending.as_deref().map_or_else(|| "none".to_owned(), general);
            *self.endings.entry(format!("{who}: {ending}")).or_default() += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.done += other.done;
        self.failures.extend(other.failures);
        let add = |into: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>| {
            from.into_iter().for_each(|(name, count)| *into.entry(name).or_default() += count);
        };
        add(&mut self.kinds, other.kinds);
        add(&mut self.endings, other.endings);
        other.counts.into_iter().for_each(|(name, count)| *self.counts.entry(name).or_default() += count);
        other.faults.into_iter().for_each(|(name, count)| *self.faults.entry(name).or_default() += count);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let take = |seed: u64, sum: &mut Summary| {
        // What broken code says may be too much for a model.
        match catch_unwind(AssertUnwindSafe(|| run(seed, Show::Nothing))) {
            Ok(report) => sum.take(seed, &report),
            Err(_) => drop(sum.failures.insert(seed, "panic: see above".into())),
        }
    };
    over_seeds(seeds, None, &take, Summary::merge, done)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = |f: &mut fmt::Formatter<'_>, title: &str, rows: Vec<(&str, u64)>| {
            writeln!(f, "{title}")?;
            rows.into_iter().try_for_each(|(name, count)| writeln!(f, "  {name:<64} {count:>14}"))
        };
        table(f, "runs", self.kinds.iter().map(|(name, count)| (name.as_str(), *count)).collect())?;
        table(f, "what was done", self.counts.iter().map(|(name, count)| (*name, *count)).collect())?;
        table(f, "faults", self.faults.iter().map(|(name, count)| (*name, *count)).collect())?;
        table(f, "ends", self.endings.iter().map(|(name, count)| (name.as_str(), *count)).collect())?;
        writeln!(f, "everything was done: {} runs", self.done)?;
        for (seed, breach) in &self.failures {
            writeln!(f, "seed {seed}: {breach}")?;
            writeln!(f, "  cargo run --locked --profile lab -p smbd-serve-swarm -- --seed {seed}")?;
        }
        let failed = self.failures.len() as u64;
        writeln!(f, "runs: {} passed, {failed} failed", self.runs.saturating_sub(failed))
    }
}
