//! The book has all pages of docs/, and its decisions are numbered.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::{files, root};

const PARTS: [&str; 6] = ["Users", "Embedders", "Design", "Protocol", "Verification", "Performance"];

/// Sizes that keep a page readable at once, in bytes.
const SIZES_MAX: [(&str, usize); 2] = [("README.md", 5 * 1024), ("ARCHITECTURE.md", 8 * 1024)];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_book_has_its_six_parts_and_every_page_of_docs_once() {
    let summary = read("docs/SUMMARY.md");
    let parts: Vec<_> = summary.lines().filter_map(|line| line.strip_prefix("# ")).skip(1).collect();
    assert_eq!(parts, PARTS);
    let listed: Vec<_> =
        summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(PathBuf::from).collect();
    let once: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page stands twice in docs/SUMMARY.md");
    let docs = root().join("docs");
    let pages =
        files(&["md"]).into_iter().filter_map(|path| Some(path.strip_prefix(&docs).ok()?.to_path_buf()));
    let pages: BTreeSet<_> = pages.filter(|page| page != &PathBuf::from("SUMMARY.md")).collect();
    assert_eq!(once, pages, "docs/SUMMARY.md, and the pages of docs/");
}

#[test]
fn the_first_pages_are_short() {
    for (page, max) in SIZES_MAX {
        let len = read(page).len();
        assert!(len <= max, "{page} has {len} bytes, {max} are allowed");
    }
}

#[test]
fn the_architecture_has_a_row_for_each_member_of_the_workspace() {
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("\nmembers = [").unwrap();
    let members = members.split(']').next().unwrap().split('"').skip(1).step_by(2);
    let page = read("ARCHITECTURE.md");
    let (_, folders) = page.split_once("\n## Folders\n").unwrap();
    let folders = folders.split("\n## ").next().unwrap();
    let missing: Vec<_> = members.filter(|member| !folders.contains(&format!("`{member}`"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md has no row for {missing:?}");
}

/// The records of decisions: their numbers, in the order of the book, and their texts.
fn decisions() -> Vec<(usize, String)> {
    let summary = read("docs/SUMMARY.md");
    let pages = summary.split("](design/").skip(1).filter_map(|rest| rest.split(')').next());
    let records = pages.flat_map(|page| {
        let text = read(&format!("docs/design/{page}"));
        text.split("\n## ADR-").skip(1).map(str::to_owned).collect::<Vec<_>>()
    });
    let numbered = records.map(|record| {
        let number = record.split_once(": ").and_then(|(id, _)| (id.len() == 3).then(|| id.parse().ok())?);
        (number.unwrap_or_else(|| panic!("no number of three digits: ADR-{record}")), record)
    });
    numbered.collect()
}

#[test]
fn each_decision_has_a_number_of_its_own_and_all_its_parts() {
    let decisions = decisions();
    assert!(decisions.len() > 50, "{}", decisions.len());
    let mut numbers: Vec<_> = decisions.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    let expected: Vec<_> = (1..=decisions.len()).collect();
    assert_eq!(numbers, expected, "a number is missing or stands twice; a new record has the next one");
    for (number, record) in decisions {
        for part in ["**Context.**", "**Decision.**", "**Consequences.**"] {
            assert_eq!(record.matches(part).count(), 1, "ADR-{number:03}: {part}");
        }
    }
}

#[test]
fn every_decision_that_is_cited_exists() {
    let count = decisions().len();
    let exists = |id: &str| id.parse().is_ok_and(|id| (1..=count).contains(&id));
    for page in files(&["md", "rs"]).into_iter().filter(|path| !path.ends_with("tidy/book.rs")) {
        let text = fs::read_to_string(&page).unwrap();
        for (at, mark) in text.match_indices("ADR-") {
            let id: String = text[at + mark.len()..].chars().take_while(char::is_ascii_digit).collect();
            assert!(id.is_empty() || exists(&id), "{} cites ADR-{id}", page.display());
        }
    }
}
