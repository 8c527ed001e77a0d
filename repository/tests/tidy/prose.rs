//! Sentences have a subject: pages have none of the phrases that hide it, and documentation comments have no more than are counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::{files, root};

/// Phrases that hide who does what, and what to write instead. In any case, whole words.
const PHRASES: [(&str, &str); 11] = [
    ("so many", "the number, or its limit"),
    ("is told", "who reports what to whom"),
    ("are told", "who reports what to whom"),
    ("any more", "no longer"),
    ("was told", "who reports what to whom"),
    ("were told", "who reports what to whom"),
    ("is said", "who says what to whom"),
    ("by then", "the event, or already"),
    ("whoever", "the peer, the caller, a program that ..."),
    ("such a one", "the noun"),
    ("today", "the release, or nothing: history is in git"),
];

/// Documentation that says nothing, as all that an item has.
const EMPTY: [&str; 3] = ["It.", "Its length in bytes.", "What came of it."];

/// Pages at the root, beside all in docs/ and all that are called README.md.
const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

/// `text` without code between fences.
pub(crate) fn without_code(text: &str) -> String {
    let mut is_code = false;
    let kept = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_fence && !is_code
    });
    kept.fold(String::new(), |kept, line| kept + line + "\n")
}

/// The paragraphs of a page, each on one line. Rows of tables and items of lists are paragraphs.
fn paragraphs(page: &str) -> Vec<String> {
    let text = without_code(page);
    let mut found = vec![String::new()];
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['|', '-', '#', '*']) {
            found.push(String::new());
        }
        let last = found.last_mut().unwrap();
        *last = format!("{last} {line}").trim().to_owned();
    }
    found
}

/// The documentation comments of a Rust file, each as a page.
fn comments(source: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in source.lines().map(str::trim) {
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(text) => {
                *found.last_mut().unwrap() += &format!("{}\n", text.strip_prefix(' ').unwrap_or(text))
            }
            None => found.push(String::new()),
        }
    }
    found.retain(|text| !text.is_empty());
    found
}

/// The places of sentences that begin with "What is" and ask nothing.
fn hidden_subjects(paragraph: &str) -> usize {
    let starts = paragraph.match_indices("What is ").filter(|(at, _)| {
        let before = paragraph[..*at].trim_end_matches(['*', '#', '|', '-', '"', ' ']);
        before.is_empty() || before.ends_with(['.', '?', '!', ':']) || before.len() + 2 < *at
    });
    let asks =
        |rest: &str| rest.split_inclusive(['.', '?', '!']).next().is_some_and(|end| end.ends_with('?'));
    starts.filter(|(at, _)| !asks(&paragraph[*at..])).count()
}

/// The faults of a text, one for each place.
fn faults(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        // Names in code are names.
        let paragraph: String = paragraph.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let words: Vec<_> = paragraph
            .split(|c: char| !c.is_alphanumeric() && c != '\'')
            .filter(|word| !word.is_empty())
            .collect();
        let line = format!(" {} ", words.join(" ").to_lowercase());
        for (phrase, instead) in PHRASES {
            let times = line.matches(&format!(" {phrase} ")).count();
            found.extend((0..times).map(|_| format!("'{phrase}'; say: {instead}: {paragraph}")));
        }
        found.extend(
            (0..hidden_subjects(&paragraph)).map(|_| format!("'What is' is no subject: {paragraph}")),
        );
    }
    if EMPTY.contains(&text.trim()) {
        found.push(format!("'{}' says nothing", text.trim()));
    }
    found
}

#[test]
fn no_page_has_a_phrase_that_hides_its_subject() {
    let docs = root().join("docs");
    let pages =
        files(&["md"]).into_iter().filter(|path| path.starts_with(&docs) || path.ends_with("README.md"));
    let pages: Vec<PathBuf> = pages.chain(PAGES.map(|page| root().join(page))).collect();
    assert!(pages.len() > 25, "{}", pages.len());
    let found: Vec<_> = pages
        .iter()
        .flat_map(|page| {
            let name = page.strip_prefix(root()).unwrap().display();
            let faults = faults(&fs::read_to_string(page).unwrap()).into_iter();
            faults.map(|fault| format!("{name}: {fault}")).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

/// How many faults the documentation comments of each folder of the workspace have.
fn counted() -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for path in files(&["rs"]).into_iter().filter(|path| !path.ends_with("repository/tests/tidy/prose.rs")) {
        let folder = path.strip_prefix(root()).unwrap().components().next().unwrap();
        let count: usize =
            comments(&fs::read_to_string(&path).unwrap()).iter().map(|text| faults(text).len()).sum();
        *counts.entry(folder.as_os_str().to_string_lossy().into_owned()).or_default() += count;
    }
    counts
}

/// `UPDATE_PROSE=1` writes counts that have become lower; a higher one is a fault of the text.
#[test]
fn documentation_comments_have_no_more_such_phrases_than_are_counted_and_the_counts_only_go_down() {
    let table = root().join("repository/tests/tidy/prose.txt");
    let rows = fs::read_to_string(&table).unwrap();
    let allowed: BTreeMap<_, _> = rows
        .lines()
        .filter_map(|row| row.split_once(' '))
        .map(|(folder, count)| (folder.to_owned(), count.parse::<usize>().unwrap()))
        .collect();
    let counted = counted();
    let higher: Vec<_> = counted
        .iter()
        .filter(|(folder, count)| allowed.get(*folder).copied().unwrap_or(0) < **count)
        .collect();
    assert!(higher.is_empty(), "more than repository/tests/tidy/prose.txt allows: {higher:?}");
    let rest: BTreeMap<_, _> = counted.into_iter().filter(|(_, count)| *count > 0).collect();
    if std::env::var_os("UPDATE_PROSE").is_some() {
        let rows: String = rest.iter().map(|(folder, count)| format!("{folder} {count}\n")).collect();
        return fs::write(table, rows).unwrap();
    }
    assert_eq!(
        rest, allowed,
        "fewer than before: UPDATE_PROSE=1 cargo test -p smbd-repository --test tidy prose"
    );
}

#[test]
fn a_phrase_is_found_in_any_case_and_over_the_end_of_a_line_and_not_in_code() {
    for (text, count) in [
        ("There are so\nmany of them.", 1),
        ("Whoever waits is told.", 2),
        ("| a | Any more. |\n| b | any more |", 2),
        ("```\nso many\n```", 0),
        ("| `every_event_is_told_once`, `so many` |", 0),
        ("Soman yesterday is toldable.", 0),
        ("What is sent, arrives.", 1),
        ("**What is sent** arrives.", 1),
        ("One. What is sent, arrives.", 1),
        ("He knows What is sent.", 0),
        ("**3. What is in the way?** The doctor looks.", 0),
        ("It.", 1),
        ("It. Two.", 0),
        ("Its length in bytes.\n", 1),
    ] {
        assert_eq!(faults(text).len(), count, "{text}");
    }
    assert_eq!(comments("/// a\n/// b\nfn f() {}\n//! c"), ["a\nb\n", "c\n"]);
}
