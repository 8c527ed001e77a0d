//! What many runs together have done.

use std::ops::Range;

use smbd_sim::Side;
use smbd_testkit::swarm::{self, Form, Show, Summary, Table};

use crate::PROGRAM;
use crate::run::{Report, run};

/// A reason in general: without what is different each time.
fn general(reason: &str) -> String {
    let words = reason.split(['(', ':']).next().unwrap_or_default().split_whitespace();
    let plain = words.filter(|word| !word.chars().any(|letter| letter.is_ascii_digit()));
    plain.take(9).collect::<Vec<_>>().join(" ")
}

fn add(sum: &mut Summary, seed: u64, report: &Report) {
    sum.take(seed, report.played.breach.as_ref(), &report.played.faults);
    sum.done += u64::from(report.played.is_done);
    let plan = &report.plan;
    let protection = &plan.protection;
    let way = match (protection.client_encrypts || protection.server_encrypts, protection.is_whole()) {
        (true, _) => "encrypted",
        (false, true) => "signed",
        (false, false) => "plain",
    };
    let is_changed = report.counts.iter().any(|(name, count)| name.starts_with("data changed") && *count > 0);
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
    sum.kinds.add(format!("{carriers}, {way}{mischief}"), 1);
    sum.kinds.add(format!("dialect {}", protection.dialect), 1);
    for (name, count) in &report.counts {
        sum.counts.add(*name, *count);
    }
    for (who, ending) in [("client", &report.client_ended), ("server", &report.server_ended)] {
        let ending = ending.as_deref().map_or_else(|| "none".to_owned(), general);
        sum.endings.add(format!("{who}: {ending}"), 1);
    }
}

/// Runs all seeds; `done` hears how many more are done. The number of threads cannot be seen in the result.
pub fn many(seeds: Range<u64>, done: &(dyn Fn(u64) + Sync)) -> Summary {
    let form = Form {
        program: PROGRAM,
        options: "",
        tables: &[
            ("runs", Table::Kinds),
            ("what was done", Table::Counts),
            ("faults", Table::Faults),
            ("ends", Table::Endings),
        ],
        of: None,
    };
    swarm::many(seeds, form, |seed| run(seed, Show::Nothing), add, done)
}
