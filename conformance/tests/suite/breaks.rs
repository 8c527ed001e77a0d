//! Each row of `requirements/breaks.toml` breaks what it says, and nothing else: every verdict can be red.
//!
//! Each test plays the rows that begin with some sections. `BREAKS=all` plays all cases for each row, not only its own, and
//! `BREAKS=TEXT` the rows with this text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::rc::Rc;

use smbd_conformance::catalogue::{Breaks, Catalogue, Row, UnderTest};
use smbd_conformance::suite::{Options, Outcome, SIDES, cases, play};

use super::tampered::Tampered;
use super::wrong::Does;

/// The first variant of the simulator that is iWARP; variant 0 is not.
const IWARP: usize = 1;

/// What a row breaks in one role, and the cases that find it.
fn found(
    row: &Row,
    role: UnderTest,
    names: &[&str],
    catalogue: &Catalogue,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for name in names {
        let (Some(case), Some(entry)) = (catalogue.case(name), cases::find(name)) else { continue };
        if !case.role.includes(role) {
            continue;
        }
        let mut target = Tampered(Does(Rc::from(row.does.as_slice())));
        let mut on = |variant| play(&mut target, variant, (case, entry), role, &Options::default());
        let mut played = on(0);
        if matches!(played.outcome, Outcome::NotApplicable(_)) {
            // Private data are a matter of iWARP.
            played = on(IWARP);
        }
        for id in played.findings.iter().flat_map(|finding| &finding.statements) {
            found.entry(id.clone()).or_default().insert(played.case.clone());
        }
    }
    found
}

/// How what a row breaks differs from what it says.
fn differs(row: &Row, catalogue: &Catalogue) -> String {
    let mut differs = String::new();
    let all = std::env::var("BREAKS").is_ok_and(|chosen| chosen == "all");
    let names: Vec<_> = match all {
        true => cases::all().map(|entry| entry.name).collect(),
        false => row.cases.iter().map(String::as_str).collect(),
    };
    for role in SIDES {
        let listed: BTreeSet<_> = row.broken(role).iter().map(ToString::to_string).collect();
        if listed.is_empty() {
            continue;
        }
        let found = found(row, role, &names, catalogue);
        for (id, cases) in found.iter().filter(|(id, _)| !listed.contains(*id)) {
            let cases: Vec<_> = cases.iter().map(String::as_str).collect();
            _ = write!(differs, "\n  {role}, not listed: {id}, found by {}", cases.join(" "));
        }
        for id in listed.iter().filter(|id| !found.contains_key(*id)) {
            _ = write!(differs, "\n  {role}, not broken: {id}");
        }
    }
    if differs.is_empty() { differs } else { format!("{}:{differs}\n", row.wrong) }
}

/// The sections of each test. A row belongs to the first of its statements.
const SECTIONS: [&[&str]; 7] = [
    &["1", "2.2", "2.2.1", "2.2.2"],
    &["2.2.3", "2.2.3.1", "3.1.1", "3.1.2"],
    &["3.1.4", "6"],
    &["3.1.5.1", "3.1.5.4"],
    &["3.1.5.2", "3.1.5.3", "3.1.5.5"],
    &["3.1.5.6", "3.1.5.7"],
    &["3.1.5.8", "3.1.5.9", "3.1.6", "3.1.7"],
];

/// Whether a section is this one or one below it, where no other is nearer.
fn belongs(row: &Row, sections: &[&str]) -> bool {
    let Some(first) = row.acceptor.iter().chain(&row.initiator).min() else { return false };
    let id = first.to_string();
    let below = |section: &&str| id.strip_prefix(section).is_some_and(|rest| rest.starts_with(['.', '-']));
    let nearest = SECTIONS
        .iter()
        .copied()
        .flatten()
        .filter(|section| below(section))
        .max_by_key(|section| section.len());
    nearest.is_some_and(|nearest| sections.contains(nearest))
}

fn all_break_what_they_say(sections: &[&str]) {
    let (breaks, catalogue) = (Breaks::load().unwrap(), Catalogue::load().unwrap());
    let chosen = std::env::var("BREAKS").unwrap_or_default();
    let rows = breaks.rows.iter().filter(|row| belongs(row, sections));
    let rows = rows.filter(|row| chosen == "all" || row.wrong.contains(&chosen));
    let differing: String = rows.map(|row| differs(row, &catalogue)).collect();
    assert!(differing.is_empty(), "{differing}");
}

#[test]
fn each_row_belongs_to_one_test() {
    for row in &Breaks::load().unwrap().rows {
        let tests = SECTIONS.iter().filter(|sections| belongs(row, sections)).count();
        assert_eq!(tests, 1, "{}", row.wrong);
    }
}

/// A test for some sections.
macro_rules! rows {
    ($($name:ident $index:literal;)*) => {$(
        #[test]
        fn $name() {
            all_break_what_they_say(SECTIONS[$index]);
        }
    )*};
}

rows! {
    the_rows_of_negotiation_messages_break_what_they_say_and_nothing_else 0;
    the_rows_of_data_messages_break_what_they_say_and_nothing_else 1;
    the_rows_of_the_upper_layer_break_what_they_say_and_nothing_else 2;
    the_rows_of_sending_break_what_they_say_and_nothing_else 3;
    the_rows_of_first_messages_break_what_they_say_and_nothing_else 4;
    the_rows_of_judging_a_negotiation_break_what_they_say_and_nothing_else 5;
    the_rows_of_receiving_credits_and_timers_break_what_they_say_and_nothing_else 6;
}
