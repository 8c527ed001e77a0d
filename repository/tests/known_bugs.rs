//! `docs/known-bugs.md` names tests: they exist, and each is one that a patch of `mutants` turns red.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn table() -> Vec<Vec<String>> {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/known-bugs.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn tests_of(row: &[String]) -> impl Iterator<Item = &str> {
    row[3].split('`').skip(1).step_by(2).filter(|code| code.contains("::"))
}

/// Rows and tests that patches name together.
fn patches() -> BTreeSet<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../smbd-core/mutants");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut named = BTreeSet::new();
    for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "patch")) {
        let text = fs::read_to_string(&file).unwrap();
        let head = text.split("\ndiff ").next().unwrap();
        let values = |key: &'static str| head.lines().filter_map(move |line| line.strip_prefix(key));
        let pairs = values("Row: ")
            .flat_map(|row| values("Test: ").map(move |test| (row.to_owned(), test.to_owned())));
        assert!(
            values("Row: ").count() > 0 && values("Test: ").count() > 0,
            "{file:?} names no row or no test"
        );
        named.extend(pairs);
    }
    named
}

/// The file that holds the test `path`, and the test's name.
fn place(path: &str) -> (String, &str) {
    let parts: Vec<_> = path.split("::").collect();
    let (test, modules) = parts.split_last().unwrap();
    let file = match modules {
        ["smbd_core", rest @ ..] => format!("src/{}/tests.rs", rest.join("/")),
        modules => format!("tests/{}.rs", modules.join("/")),
    };
    (file, test)
}

#[test]
fn every_bug_has_its_row() {
    let numbers: Vec<_> = table().iter().map(|row| row[0].parse::<u32>().unwrap()).collect();
    assert_eq!(numbers, (1..=55).collect::<Vec<_>>());
    assert!(table().iter().all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty())));
}

#[test]
fn every_named_test_exists() {
    let mut named = 0;
    for row in table() {
        for path in tests_of(&row) {
            let (file, test) = place(path);
            let source =
                fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../smbd-core").join(&file));
            let source = source.unwrap_or_else(|error| panic!("row {}: {file}: {error}", row[0]));
            assert!(source.contains(&format!("fn {test}(")), "row {}: no {test} in {file}", row[0]);
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}

#[test]
fn every_test_of_a_row_is_named_by_a_patch_of_that_row_and_every_row_without_says_why() {
    let named: BTreeSet<_> = table()
        .iter()
        .flat_map(|row| tests_of(row).map(|test| (row[0].clone(), test.to_owned())).collect::<Vec<_>>())
        .collect();
    let patched = patches();
    let lonely: Vec<_> = named.symmetric_difference(&patched).collect();
    assert!(lonely.is_empty(), "named by a row or by a patch, not by both: {lonely:?}");
    for row in table() {
        let none = row[3].starts_with("no patch: ");
        assert_eq!(
            tests_of(&row).next().is_none(),
            none,
            "row {} names tests, or says why there is no patch",
            row[0]
        );
    }
}

#[test]
fn the_page_of_results_has_the_figures_of_this_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = fs::read_dir(root.join("smbd-core/mutants")).unwrap();
    let patches =
        folder.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|is| is == "patch"));
    let table = table();
    let without = table.iter().filter(|row| tests_of(row).next().is_none()).count();
    let (rows, with) = (table.len(), table.len() - without);
    let said = format!("{} patches for {with} of the {rows} rows of [known bugs]", patches.count());
    let results = fs::read_to_string(root.join("docs/results.md")).unwrap();
    assert!(results.contains(&said), "docs/results.md does not say {said}");
    let others = format!("The other {without} rows say why");
    assert!(results.contains(&others), "docs/results.md does not say {others}");
}
