//! What many runs together have done.

use std::ops::Range;

use smbd_testkit::swarm::{self, Form, Summary, Table};

use crate::PROGRAM;
use crate::run::{Report, run};

fn add(sum: &mut Summary, seed: u64, report: &Report) {
    sum.take(seed, report.breach.as_ref(), &report.faults);
    sum.wanted += report.clients as u64;
    sum.done += report.done as u64;
    let kind = if report.is_gentle { "runs without an end of a connection" } else { "runs with trouble" };
    let turns = ("turns", u64::from(report.turns));
    for (name, count) in report.counts.iter().copied().chain([(kind, 1), turns]) {
        sum.counts.add(name, count);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let form = Form {
        program: PROGRAM,
        options: "",
        tables: &[("what was done", Table::Counts), ("faults", Table::Faults)],
        of: Some("clients"),
    };
    swarm::many(seeds, form, |seed| run(seed, false), add, done)
}
