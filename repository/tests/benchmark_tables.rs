//! What docs/benchmarks.md says was counted, is what the records in docs/benchmarks say; and no number stands there without the
//! command and the commit it is of.
//!
//! `UPDATE_TABLES=1` writes the tables of the records as they are.

use std::fs;
use std::path::Path;

use smbd_repository::instructions::page::{between, path, put, tables};

/// Why a table with numbers is right that is of no record.
#[derive(Debug)]
enum Of {
    /// A test holds it: the file, from the root.
    Test(&'static str),
    /// The text above it has the command, the commit and its day.
    Text,
}

/// Such tables: sections and first lines.
const OTHERS: [(&str, &str, Of); 11] = [
    ("Where the instructions go", "| part | instructions |", Of::Text),
    ("Kept for speed", "| operation | all | no `notice` | no `told` | nor `idle` | no plan |", Of::Text),
    ("The path of a side", "| part | instructions |", Of::Text),
    ("The relay", "| part | READ | WRITE |", Of::Text),
    ("A client", "| call | instructions |", Of::Text),
    ("A gateway", "| part | READ | WRITE |", Of::Text),
    ("Times", "| operation | before, ns | now, ns |", Of::Text),
    ("The simulator", "| what | messages/s | goal |", Of::Text),
    (
        "The simulator",
        "| in a run of 2,533 steps, 1,815 turns of `drive` and 4,627 actions | million instructions |",
        Of::Text,
    ),
    ("Memory", "| what | bytes |", Of::Test("repository/tests/memory_table.rs")),
    (
        "Memory",
        "| bytes | endpoint, core | tables of the backend | receive buffers | send buffers | rings of rxe | of siw | of mlx5 \
         | `footprint` |",
        Of::Test("repository/tests/memory_table.rs"),
    ),
];

/// A table of the page.
#[derive(Debug, Default)]
struct Table<'a> {
    section: &'a str,
    /// Between it and the heading, marks or table before it.
    above: String,
    lines: Vec<&'a str>,
}

impl Table<'_> {
    /// A cell begins with a digit.
    fn has_numbers(&self) -> bool {
        let cells = self.lines.iter().flat_map(|line| line.split('|'));
        cells.into_iter().any(|cell| cell.trim().starts_with(|first: char| first.is_ascii_digit()))
    }

    /// The text above names a command, and a commit with its day.
    fn is_dated(&self) -> bool {
        let commands = ["cargo bench ", "cargo test ", "callgrind_annotate"];
        let says_command = commands.iter().any(|command| self.above.contains(command));
        let words = self
            .above
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .filter(|word| !word.is_empty());
        let words: Vec<_> = words.collect();
        let is_commit = |word: &str| word.len() >= 7 && word.chars().all(|c| c.is_ascii_hexdigit());
        let is_day = |word: &str| {
            word.len() == 10
                && word.split('-').count() == 3
                && word.chars().all(|c| c.is_ascii_digit() || c == '-')
        };
        says_command && words.windows(2).any(|pair| is_commit(pair[0]) && is_day(pair[1]))
    }
}

/// All tables of a page that are not between marks.
fn by_hand(page: &str) -> Vec<Table<'_>> {
    let (mut tables, mut open, mut is_between) = (Vec::new(), Table::default(), false);
    for line in page.lines() {
        if !line.starts_with('|') && !open.lines.is_empty() {
            let section = open.section;
            tables.push(std::mem::replace(&mut open, Table { section, ..Table::default() }));
        }
        if line.starts_with("<!-- ") {
            is_between = line != "<!-- end -->";
            open.above.clear();
        } else if !is_between && line.starts_with('|') {
            open.lines.push(line);
        } else if line.starts_with('#') {
            open = Table { section: line.trim_start_matches(['#', ' ']), ..Table::default() };
        } else if !is_between {
            open.above += line;
            open.above.push('\n');
        }
    }
    tables.extend((!open.lines.is_empty()).then_some(open));
    tables
}

fn page() -> String {
    fs::read_to_string(path()).unwrap()
}

#[test]
fn the_tables_of_the_page_are_those_of_the_records() {
    let (mut page, tables) = (page(), tables().unwrap());
    assert!(tables.len() > 5, "{tables:?}");
    if std::env::var_os("UPDATE_TABLES").is_some() {
        page = tables.iter().fold(page, |page, (name, table)| put(&page, name, table).unwrap());
        fs::write(path(), &page).unwrap();
    }
    let names = page.lines().filter_map(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->"));
    let mut names: Vec<_> = names.filter(|name| *name != "end").collect();
    names.sort_unstable();
    // Files are in another order: a dot comes behind a hyphen.
    let mut records: Vec<_> = tables.iter().map(|(name, _)| name.as_str()).collect();
    records.sort_unstable();
    assert_eq!(names, records, "marks are of records");
    for (name, table) in tables {
        let found = between(&page, &name).unwrap_or_else(|| panic!("docs/benchmarks.md has no table {name}"));
        assert_eq!(found, table, "the table {name} of docs/benchmarks.md is not that of its record");
    }
}

#[test]
fn a_table_of_numbers_that_is_of_no_record_says_the_command_and_the_commit_or_is_held_by_a_test() {
    let page = page();
    let tables: Vec<_> = by_hand(&page).into_iter().filter(Table::has_numbers).collect();
    for table in &tables {
        let known =
            OTHERS.iter().find(|(section, first, _)| (*section, *first) == (table.section, table.lines[0]));
        match known {
            None => panic!(
                "a table of no record, and not in the list:\n{}\n{}",
                table.section,
                table.lines.join("\n")
            ),
            Some((.., Of::Test(file))) => {
                assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file).exists(), "{file}")
            }
            Some((.., Of::Text)) => {
                assert!(table.is_dated(), "no command, or no commit and its day: {table:#?}")
            }
        }
    }
    assert_eq!(tables.len(), OTHERS.len(), "{OTHERS:#?} are not all there, or one is there twice");
}

#[test]
fn a_table_is_found_with_what_is_above_it() {
    let page = "\
# Page
| words |
|---|
| a |
## One
text
<!-- name -->
| in | marks |
| 1 | 2 |
<!-- end -->
By `cargo bench -p all` on 1a2b3c4d (2026-11-28):

| a | b |
|---|---|
| c | 1 |

On 1a2b3c4d, by hand:
| a | b |
| c | 2 |
### Two
| a | b |
| c | 3 |
";
    let tables: Vec<_> = by_hand(page).into_iter().filter(Table::has_numbers).collect();
    let found = tables.iter().map(|table| (table.section, table.is_dated(), *table.lines.last().unwrap()));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [("One", true, "| c | 1 |"), ("One", false, "| c | 2 |"), ("Two", false, "| c | 3 |")]
    );
}
