use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{Breakable, Breaks, BreaksFault};
use crate::catalogue::{Catalogue, Coverage};

fn loaded() -> (Breaks, Catalogue) {
    (Breaks::load().unwrap(), Catalogue::load().unwrap())
}

#[test]
fn each_covered_statement_is_broken_or_has_a_reason_and_none_has_both() {
    let (breaks, catalogue) = loaded();
    assert_eq!(breaks.faults(&catalogue), []);
}

#[test]
fn at_least_250_statements_are_seen_broken() {
    let (breaks, catalogue) = loaded();
    let covered = catalogue.statements.iter().filter(|all| matches!(all.coverage, Coverage::Cases(_)));
    let broken =
        covered.filter(|all| matches!(breaks.of(&all.id), Breakable::Rows(_) | Breakable::Mutant(_)));
    assert!(broken.count() >= 250);
}

#[test]
fn each_patch_is_listed_with_the_statement_that_it_names() {
    let named = |patch: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants").join(format!("{patch}.patch"));
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{patch}: {error}"));
        text.lines().find_map(|line| line.strip_prefix("statement: ").map(str::to_owned))
    };
    let (breaks, _) = loaded();
    for mutant in &breaks.mutants {
        assert_eq!(named(&mutant.patch), Some(mutant.statement.to_string()), "{}", mutant.patch);
    }
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(patch) = name.strip_suffix(".patch") else { continue };
        let listed = breaks.mutants.iter().any(|mutant| mutant.patch == patch);
        assert!(listed || named(patch).as_deref() == Some("none"), "{patch} is not in breaks.toml");
    }
}

#[test]
fn no_row_is_broken_by_a_statement_that_may_be_done() {
    let (breaks, catalogue) = loaded();
    let levels: BTreeMap<_, _> = catalogue.statements.iter().map(|all| (&all.id, all.level)).collect();
    for row in &breaks.rows {
        for id in row.acceptor.iter().chain(&row.initiator) {
            assert_ne!(levels[id], crate::catalogue::Level::May, "{}: {id}", row.wrong);
        }
    }
}

/// The faults of a file, in words.
fn faults(text: &str) -> Vec<String> {
    let catalogue = Catalogue::load().unwrap();
    let faults = Breaks::parse(text).unwrap().faults(&catalogue);
    let others = faults.into_iter().filter(|fault| !matches!(fault, BreaksFault::Missing(_)));
    others.map(|fault| fault.to_string()).collect()
}

/// A row that breaks a statement.
const ROW: &str = "
[[row]]
wrong = 'no connection ends'
does = ['stays']
cases = ['BVT_SmbdNegotiate_Basic']
acceptor = ['3.1.5.8-07']
";
const REST: &str = "
[[mutant]]
patch = 'any-status'
statement = '3.1.5.7-08'
[[not_shown]]
statement = '1.7-04'
reason = 'What may be done is not broken.'
";

#[test]
fn what_is_wrong_with_the_file_is_told() {
    let sound = format!("{ROW}{REST}");
    assert_eq!(faults(&sound), Vec::<String>::new());
    assert_eq!(faults(&format!("{ROW}{ROW}{REST}")), ["no connection ends is there twice"]);
    assert_eq!(
        faults(&sound.replace("BVT_SmbdNegotiate_Basic", "no::case")),
        ["'no connection ends' names case no::case, which does not exist"]
    );
    let nothing = "'no connection ends' does nothing, plays nothing, or breaks nothing";
    for (was, is) in [("['stays']", "[]"), ("['BVT_SmbdNegotiate_Basic']", "[]"), ("['3.1.5.8-07']", "[]")] {
        assert_eq!(faults(&sound.replace(was, is)), [nothing]);
    }
    assert_eq!(
        faults(&sound.replace("'1.7-04'", "'3.1.5.8-07'")),
        ["statement 3.1.5.8-07 is broken, and said not to be"]
    );
    assert_eq!(
        faults(&sound.replace("'1.7-04'", "'3.1.5.7-08'")),
        ["statement 3.1.5.7-08 is broken, and said not to be"]
    );
    assert_eq!(faults(&sound.replace("'1.7-04'", "'1.5-01'")), ["statement 1.5-01 is covered by no case"]);
}

#[test]
fn a_statement_that_nothing_breaks_is_missing() {
    let (breaks, catalogue) = loaded();
    let less = Breaks { not_shown: Vec::new(), ..breaks.clone() };
    let missing: Vec<_> =
        breaks.not_shown.iter().map(|not| BreaksFault::Missing(not.statement.clone())).collect();
    let found = less.faults(&catalogue);
    assert_eq!(found.len(), missing.len());
    assert!(missing.iter().all(|fault| found.contains(fault)), "{found:?}");
}

#[test]
fn unknown_changes_and_fields_are_refused() {
    for (was, is) in
        [("'stays'", "'stands'"), ("wrong =", "right ="), ("['stays']", "[{ ends_by = 'soon' }]")]
    {
        assert!(Breaks::parse(&format!("{ROW}{REST}").replace(was, is)).is_err(), "{is}");
    }
}
