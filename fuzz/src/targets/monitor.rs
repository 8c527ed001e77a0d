//! The monitor, over the messages of two connections that keep every law.

use std::time::Duration;

use smbd_conformance::monitor::rules::behaviour::{
    KEEPALIVE_ASKS_BACK, KEEPALIVE_LATE, KEEPALIVE_UNANSWERED,
};
use smbd_conformance::monitor::rules::negotiation::{NEGOTIATION_LATE, RESPONSE_MAX_READ_WRITE};
use smbd_conformance::monitor::{self, text};
use smbd_sim::capture::{Link, Writer};
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{self, Plan};
use smbd_sim::trace::Pcap;

use super::pair::plan;

/// What the monitor calls broken, the core must never send.
pub fn monitor(data: &[u8]) {
    let plan = plan(data);
    if plan.hostile.is_some() {
        return;
    }
    let file = capture(&plan);
    let verdict = monitor::check(&smbd_sim::decode::read(file.as_slice()));
    // Some are configured to do what the Microsoft suite does not like.
    let little = plan.configs[1].max_read_write_size < 1 << 20;
    let patient = plan.configs[1].passive_negotiation_timeout > Duration::from_secs(5);
    // Faults make hosts hang and networks fall silent; what comes late then, or not at all, is no decision.
    let faulty = !plan.rounds.is_empty() || !plan.standing.is_empty();
    let late = [&NEGOTIATION_LATE, &KEEPALIVE_LATE, &KEEPALIVE_UNANSWERED];
    let mut found = verdict.findings().filter(|finding| {
        let excused = (little && finding.rule == &RESPONSE_MAX_READ_WRITE)
            || (patient && finding.rule == &NEGOTIATION_LATE)
            || (faulty && late.contains(&finding.rule))
            // One empty message answers the peer and asks for a probe of one's own: a capture cannot tell (KA-1).
            || finding.rule == &KEEPALIVE_ASKS_BACK;
        !excused
    });
    assert!(found.next().is_none(), "{}", text::verdict(&verdict));
}

fn capture(plan: &Plan) -> Vec<u8> {
    let written = match plan.personality {
        Personality::Roce => Writer::roce(Vec::new(), Link::roce())
            .and_then(|writer| swarm::run_showing(plan, None, Pcap::new(writer)).1.finish()),
        Personality::Iwarp => Writer::iwarp(Vec::new(), Link::iwarp())
            .and_then(|writer| swarm::run_showing(plan, None, Pcap::new(writer)).1.finish()),
    };
    written.expect("memory takes everything")
}
