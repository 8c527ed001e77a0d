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
fn decisions_are_numbered_in_the_order_of_the_book_and_each_has_all_its_parts() {
    let summary = read("docs/SUMMARY.md");
    let pages = summary.split("](design/").skip(1).filter_map(|rest| rest.split(')').next());
    let text: String = pages.map(|page| read(&format!("docs/design/{page}"))).collect();
    let records: Vec<_> = text.split("\n## ADR-").skip(1).collect();
    assert!(records.len() > 50, "{}", records.len());
    for (at, record) in records.iter().enumerate() {
        let title = record.lines().next().unwrap();
        assert!(title.starts_with(&format!("{:03}: ", at + 1)), "ADR-{title} is record {}", at + 1);
        let record = record.split("\n# ").next().unwrap();
        for part in ["**Context.**", "**Decision.**", "**Consequences.**"] {
            assert_eq!(record.matches(part).count(), 1, "ADR-{title}: {part}");
        }
    }
    let known = |id: &str| id.parse::<usize>().is_ok_and(|id| (1..=records.len()).contains(&id));
    for page in files(&["md", "rs"]).into_iter().filter(|path| !path.ends_with("tidy/book.rs")) {
        let text = fs::read_to_string(&page).unwrap();
        for (_, id) in text.match_indices("ADR-").map(|(at, _)| text.split_at(at + 4)) {
            let id: String = id.chars().take_while(char::is_ascii_digit).collect();
            assert!(id.is_empty() || known(&id), "{} cites ADR-{id}", page.display());
        }
    }
}
