//! The results of many runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::Range;

use super::{Exception, Kind, Plan, Report, Verdict, run};
use crate::Side;
use crate::swarm::over_seeds;

/// Runs that were not expected to end well for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excepted {
    /// All of them.
    pub runs: u64,
    /// Those that did not.
    pub stalled: u64,
}

/// Runs against one kind of peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// All of them.
    pub runs: u64,
    /// Delivered and quiet.
    pub delivered: u64,
    /// Come to a stand by the peer's own rules. Those excepted are not among them.
    pub stalled: u64,
    /// Excepted, by reason; delivered or not.
    pub excepted: BTreeMap<Exception, Excepted>,
    /// Failed, by seed.
    pub failures: BTreeMap<u64, String>,
}

/// All kinds.
pub type Summary = BTreeMap<Kind, Row>;

impl Row {
    fn take(&mut self, report: Report) {
        self.runs += 1;
        self.delivered += u64::from(report.verdict == Verdict::Delivered);
        if let Some(exception) = report.exception {
            let excepted = self.excepted.entry(exception).or_default();
            excepted.runs += 1;
            excepted.stalled += u64::from(report.verdict == Verdict::Stalled);
        }
        match report.verdict {
            Verdict::Delivered => {}
            Verdict::Stalled => self.stalled += u64::from(report.exception.is_none()),
            Verdict::Failed(what) => {
                self.failures.insert(report.seed, what);
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.delivered += other.delivered;
        self.stalled += other.stalled;
        for (exception, more) in other.excepted {
            let excepted = self.excepted.entry(exception).or_default();
            excepted.runs += more.runs;
            excepted.stalled += more.stalled;
        }
        self.failures.extend(other.failures);
    }
}

/// Runs all seeds against a kind of peer, on so many threads (as many as there are, if left out); `done` hears how many more
/// are done. The number of threads cannot be seen in the result.
pub fn run_seeds(
    kind: Kind,
    seeds: Range<u64>,
    threads: Option<NonZeroUsize>,
    done: &(dyn Fn(u64) + Sync),
) -> Row {
    let take = |seed: u64, row: &mut Row| row.take(run(&Plan::of(kind, seed), None));
    over_seeds(seeds, threads, &take, Row::merge, done)
}

/// A table in Markdown.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut text = "| model | role | runs | delivered and quiet | excepted | stalled | failures |\n\
                    |---|---|---:|---:|---|---|---:|\n"
        .to_owned();
    for (kind, row) in summary {
        let role = if kind.side() == Side::Initiator { "initiator" } else { "acceptor" };
        let excepted = row.excepted.iter().map(|(exception, Excepted { runs, stalled })| {
            format!("{}: {runs}, of which {stalled} stalled", exception.reason)
        });
        let stalled = if kind.may_stall() { share(row.stalled, row.runs) } else { NONE.to_owned() };
        let _ = writeln!(
            text,
            "| `{}` | {role} | {} | {} | {} | {} | {} |",
            kind.name(),
            row.runs,
            row.delivered,
            list(excepted),
            stalled,
            row.failures.len()
        );
    }
    text
}

const NONE: &str = "–";

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.collect();
    if items.is_empty() { NONE.to_owned() } else { items.join("; ") }
}

/// A number with its share in percent, to a tenth.
fn share(part: u64, all: u64) -> String {
    let tenths = part.saturating_mul(1000).checked_div(all).unwrap_or(0);
    format!("{part} ({}.{} %)", tenths / 10, tenths % 10)
}
