//! docs/smbtorture.md and conformance/lab/smbtorture.toml agree: families, tests and reasons.

use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = include_str!("../../docs/smbtorture.md");
const DATA: &str = include_str!("../../conformance/lab/smbtorture.toml");

struct Row {
    test: &'static str,
    ours: &'static str,
    samba: &'static str,
    reason: &'static str,
}

fn rows() -> Vec<Row> {
    let rows = DOCUMENT.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<_> = line.split(" | ").collect();
        let [test, ours, samba, reason] = cells[..] else { panic!("{line}: four cells") };
        let test = test.trim_start_matches("| `").trim_end_matches('`');
        Row { test, ours, samba, reason: reason.trim_end_matches('|').trim() }
    })
    .collect()
}

/// A line `"TEST" = "REASON"` each.
fn reasons() -> BTreeMap<&'static str, &'static str> {
    let part = DATA.split("[reasons]\n").nth(1).expect("the part [reasons]");
    let lines = part.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (test, reason) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}: NAME = REASON"));
            (test.trim_matches('"'), reason.trim_matches('"'))
        })
        .collect()
}

fn family(test: &str) -> String {
    test.split('.').take(2).collect::<Vec<_>>().join(".")
}

#[test]
fn each_family_has_rows_and_each_row_a_family() {
    let list = DATA.split("families = [").nth(1).and_then(|rest| rest.split(']').next()).expect("families");
    let named: BTreeSet<_> = list.split('"').skip(1).step_by(2).map(|name| format!("smb2.{name}")).collect();
    let played: BTreeSet<_> = rows().iter().map(|row| family(row.test)).collect();
    assert_eq!(named, played);
}

#[test]
fn what_samba_passes_passes_or_has_the_reason_of_the_data_file() {
    let reasons = reasons();
    for Row { test, ours, samba, reason } in rows() {
        let why = reasons.get(test).or_else(|| reasons.get(&*family(test)));
        let expected = if ours == "passed" { "" } else { why.copied().unwrap_or_default() };
        assert_eq!(reason, expected, "{test}: conformance/lab/smbtorture --update writes the page");
        assert!(samba != "passed" || ours == "passed" || why.is_some(), "{test} has no reason");
    }
}

#[test]
fn each_reason_is_that_of_a_row_that_does_not_pass() {
    for test in reasons().keys() {
        let needed =
            rows().iter().any(|row| row.ours != "passed" && (row.test == *test || family(row.test) == *test));
        assert!(needed, "{test}: nothing of this name fails");
    }
}
