//! `docs/known-bugs.md` names tests: they exist.

use std::fs;
use std::path::Path;

fn table() -> Vec<Vec<String>> {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/known-bugs.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
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
    assert_eq!(numbers, (1..=47).collect::<Vec<_>>());
    assert!(table().iter().all(|row| row.len() == 4 && row.iter().all(|cell| !cell.is_empty())));
}

#[test]
fn every_named_test_exists() {
    let mut named = 0;
    for row in table() {
        for path in row[3].split('`').skip(1).step_by(2).filter(|code| code.contains("::")) {
            let (file, test) = place(path);
            let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
            let source = source.unwrap_or_else(|error| panic!("row {}: {file}: {error}", row[0]));
            assert!(source.contains(&format!("fn {test}(")), "row {}: no {test} in {file}", row[0]);
            named += 1;
        }
    }
    assert!(named > 47, "{named}");
}
