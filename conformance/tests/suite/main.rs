//! Every case, against `smbd-core` in the simulator; and that the code of the cases is what the catalogue says.

mod breaks;
mod exact;
mod examples;
mod fair;
mod red;
mod restless;
mod survival;
mod tampered;
mod waits;
mod wrong;

use std::collections::{BTreeMap, BTreeSet};

use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::Sim;
use smbd_conformance::suite::{Options, Outcome, Played, SIDES, cases, play};

/// Cases on which `smbd-core` is known to be wrong, each with what is wrong.
const KNOWN: [(&str, &str); 0] = [];

fn all() -> Vec<Played> {
    let catalogue = Catalogue::load().unwrap();
    let mut played = Vec::new();
    for entry in cases::all() {
        let Some(case) = catalogue.case(entry.name) else { continue };
        for role in SIDES.into_iter().filter(|side| case.role.includes(*side)) {
            for variant in 0..Sim.variants().len() {
                played.push(play(&mut Sim, variant, (case, entry), role, &Options::default()));
            }
        }
    }
    played
}

fn told(played: &Played) -> String {
    let Played { case, role, variant, .. } = played;
    let findings = played
        .findings
        .iter()
        .map(|finding| format!("\n  {} ({})", finding.text, finding.statements.join(" ")));
    format!("{case}, {role}, {variant}:{}\n{}", findings.collect::<String>(), played.trace)
}

#[test]
fn the_core_passes_every_case_and_each_asserts_what_the_catalogue_lists() {
    let all = all();
    let known: BTreeSet<_> = KNOWN.iter().map(|(name, _)| *name).collect();
    let failed = all.iter().filter(|played| played.outcome == Outcome::Failed);
    let failed: Vec<_> = failed.filter(|played| !known.contains(played.case.as_str())).map(told).collect();
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
    for name in known {
        let fails = all.iter().any(|played| played.case == name && played.outcome == Outcome::Failed);
        assert!(fails, "{name} is listed as known to fail, and passes");
    }

    let mut asserted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for played in all.iter().filter(|played| played.outcome == Outcome::Passed) {
        let ids = asserted.entry(&played.case).or_default();
        ids.extend(played.asserted.keys().map(String::as_str));
    }
    let catalogue = Catalogue::load().unwrap();
    let mut wrong = Vec::new();
    for (name, ids) in asserted {
        let listed: BTreeSet<_> =
            catalogue.case(name).unwrap().statements.iter().map(ToString::to_string).collect();
        let listed: BTreeSet<_> = listed.iter().map(String::as_str).collect();
        let missing: Vec<_> = listed.difference(&ids).collect();
        let unlisted: Vec<_> = ids.difference(&listed).collect();
        if !missing.is_empty() || !unlisted.is_empty() {
            wrong.push(format!("{name}: not asserted {missing:?}; asserted and not listed {unlisted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_of_the_catalogue_has_code_and_no_other_has() {
    let catalogue = Catalogue::load().unwrap();
    let planned: BTreeSet<_> = catalogue.cases.iter().map(|case| case.name.as_str()).collect();
    let mut names = BTreeSet::new();
    for name in cases::all().map(|entry| entry.name) {
        assert!(names.insert(name), "{name} is there twice");
    }
    let unplanned: Vec<_> = names.difference(&planned).collect();
    assert!(unplanned.is_empty(), "not in cases.toml: {unplanned:?}");
    let forgotten: Vec<_> = planned.difference(&names).collect();
    assert!(forgotten.is_empty(), "no code: {forgotten:?}");
}
