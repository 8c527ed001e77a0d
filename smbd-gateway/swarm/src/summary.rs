//! What many runs together have done.

use std::ops::Range;

use smbd_gateway::Ending;
use smbd_testkit::swarm::{self, Form, Show, Summary, Table};

use crate::scene::Report;
use crate::{Direction, PROGRAM};

fn add(sum: &mut Summary, seed: u64, report: &Report) {
    sum.take(seed, report.played.breach.as_ref(), &report.played.faults);
    sum.done += u64::from(report.played.is_done);
    let ending =
        report.ending.as_ref().map_or_else(|| "not established".into(), |ending| format!("{ending:?}"));
    let name = ending.split(['(', ' ', '{']).next().unwrap_or_default().to_owned();
    sum.endings.add(name, 1);
    if let Some(is_killed) = report.is_broker_killed {
        let is_too_long = matches!(&report.ending, Some(Ending::Client(why)) if why.contains("do not fit"));
        sum.counts.add("brokers killed", u64::from(is_killed));
        sum.counts.add("transfers that slots are too few for", u64::from(is_too_long));
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
        sum.counts.add(name, count);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, direction: Direction, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let options = match direction {
        Direction::Forward => "",
        Direction::OnBroker => " --on-broker",
        Direction::Reverse => " --reverse",
    };
    let form = Form {
        program: PROGRAM,
        options,
        tables: &[("carried", Table::Counts), ("faults", Table::Faults), ("ends of pumps", Table::Endings)],
        of: None,
    };
    swarm::many(seeds, form, |seed| direction.run(seed, Show::Nothing), add, done)
}
