//! Each rule of the table, broken once in a recorded conversation that is otherwise left as it was.

#[path = "../common/mod.rs"]
mod common;

mod behaviour;
mod credits;
mod data;
mod negotiation;
mod silence;

use std::collections::BTreeSet;

use common::Tape;
use smbd_conformance::monitor::rules::behaviour::KEEPALIVE_UNANSWERED;
use smbd_conformance::monitor::rules::{self, Rule};
use smbd_conformance::monitor::text;

/// A change of the recorded conversation and what is broken by it.
struct Case {
    rule: &'static Rule,
    /// Where.
    frame: u64,
    /// What cannot but be broken as well: the message that this one should have answered otherwise.
    also: Option<(&'static Rule, u64)>,
    change: fn(&mut Tape),
}

/// A case that breaks nothing but its rule.
const fn only(rule: &'static Rule, frame: u64, change: fn(&mut Tape)) -> Case {
    Case { rule, frame, also: None, change }
}

fn cases() -> impl Iterator<Item = Case> {
    negotiation::cases().into_iter().chain(data::cases()).chain(credits::cases()).chain(behaviour::cases())
}

#[test]
fn each_change_breaks_its_rule_in_its_frame_and_no_other() {
    for Case { rule, frame, also, change } in cases() {
        let mut tape = Tape::new();
        change(&mut tape);
        let verdict = tape.check();
        let found: BTreeSet<_> =
            verdict.findings().map(|finding| (finding.rule.name, finding.frame)).collect();
        let also = also.into_iter().map(|(rule, frame)| (rule.name, frame));
        let expected: BTreeSet<_> = also.chain([(rule.name, frame)]).collect();
        assert_eq!(found, expected, "{}\n{}", rule.name, text::verdict(&verdict));
        assert_eq!(verdict.findings().count(), expected.len(), "{}", rule.name);
        for finding in verdict.findings() {
            // Who is silent is not who asked.
            let by_sender = finding.rule != &KEEPALIVE_UNANSWERED;
            let sent = finding.direction == tape.direction(finding.frame);
            assert_eq!(sent, by_sender, "{}", text::finding(finding));
        }
    }
}

#[test]
fn each_rule_of_the_table_has_a_case() {
    let tested: BTreeSet<_> = cases().map(|case| case.rule.name).collect();
    let missing: Vec<_> = rules::all().map(|rule| rule.name).filter(|name| !tested.contains(name)).collect();
    assert!(missing.is_empty(), "rules without a case: {missing:?}");
}

#[test]
fn the_conversation_breaks_nothing_as_it_was_recorded() {
    let verdict = Tape::new().check();
    assert_eq!(verdict.findings().count(), 0, "{}", text::verdict(&verdict));
    assert_eq!(verdict.not_judged(), 0);
}
