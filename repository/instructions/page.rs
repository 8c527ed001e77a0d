//! The tables of `docs/benchmarks.md`: each is between the marks `<!-- NAME -->` and `<!-- end -->`, and is what a record gives.

use std::path::PathBuf;

use super::record::{Record, root};
use super::{Failure, commit::Commit};

const END: &str = "<!-- end -->\n";

/// The page.
#[must_use]
pub fn path() -> PathBuf {
    root().join("docs/benchmarks.md")
}

/// All records: the names of their files without `.toml`, and the tables they give.
///
/// # Errors
/// A file that cannot be read, or that has a number of no operation.
pub fn tables() -> Result<Vec<(String, String)>, Failure> {
    let folder = root().join("docs/benchmarks");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<_> = files.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let table = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let table =
            table(&Record::read(path)?).map_err(|failure| format!("{}: {failure}", path.display()))?;
        Ok((name, table))
    };
    files.iter().map(table).collect()
}

/// What is between the marks of a name.
#[must_use]
pub fn between<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("\n<!-- {name} -->\n"))?;
    Some(rest.split_once(END)?.0)
}

/// The page with something else between the marks of a name.
///
/// # Errors
/// A page without these marks.
pub fn put(page: &str, name: &str, table: &str) -> Result<String, Failure> {
    let begin = format!("\n<!-- {name} -->\n");
    let replaced = page.split_once(&begin).and_then(|(above, rest)| {
        let (_, below) = rest.split_once(END)?;
        Some(format!("{above}{begin}{table}{END}{below}"))
    });
    replaced.ok_or_else(|| format!("docs/benchmarks.md has no marks <!-- {name} --> and <!-- end -->"))
}

/// The numbers of a record, and what they were counted on and by.
pub(super) fn table(record: &Record) -> Result<String, Failure> {
    let numbers =
        record.numbers().map(|(name, ..)| name).chain(record.before.keys()).chain(record.goal.keys());
    for name in numbers.chain(record.beside.keys()) {
        operation(record, name)?;
    }
    let columns: [(&str, bool, Cell); 6] = [
        ("operation", true, operation),
        ("goal", !record.goal.is_empty(), goal),
        ("before", !record.before.is_empty(), before),
        ("counted", true, |record, name| {
            let unit = if record.bytes.contains_key(name) { " bytes" } else { "" };
            Ok(grouped(counted(record, name)?) + unit)
        }),
        ("beside it", !record.beside.is_empty(), beside),
        ("speed, that beside it is 1", !record.beside.is_empty(), speed),
    ];
    let columns: Vec<_> = columns.into_iter().filter(|(_, is_there, _)| *is_there).collect();
    let names: Vec<_> = columns.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let mut table = counted_on(record) + &line(&names) + "|---" + &"|---:".repeat(columns.len() - 1) + "|\n";
    // What is beside another one has no row of its own.
    let is_beside = |name: &String| record.beside.values().any(|beside| beside == name);
    for (name, _) in record.what.iter().filter(|(name, _)| !is_beside(name)) {
        let cells: Result<Vec<_>, _> = columns.iter().map(|(.., cell)| cell(record, name)).collect();
        table += &line(&cells?);
    }
    Ok(table)
}

fn counted_on(record: &Record) -> String {
    let commit = record.commit.as_ref().map(Commit::text);
    let on = commit.map_or_else(|| "outside a checkout of git".to_owned(), |commit| format!("on {commit}"));
    let before = record.before_commit.as_ref().map(Commit::text);
    let before = before.map_or_else(String::new, |commit| format!("; *before*: on {commit}"));
    format!("Counted {on}, rustc {}, by\n`{}`{before}.\n\n", record.rustc, record.command)
}

fn line(cells: &[String]) -> String {
    let cell = |cell: &String| if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") };
    format!("|{}\n", cells.iter().map(cell).collect::<String>())
}

/// What a column has for an operation.
type Cell = fn(&Record, &str) -> Result<String, Failure>;

fn operation(record: &Record, name: &str) -> Result<String, Failure> {
    let found = record.what.iter().find(|(known, _)| known == name);
    found.map(|(_, what)| what.clone()).ok_or_else(|| format!("{name}: there is no such operation"))
}

fn counted(record: &Record, name: &str) -> Result<f64, Failure> {
    record.number(name).ok_or_else(|| format!("{name}: no number is recorded"))
}

fn goal(record: &Record, name: &str) -> Result<String, Failure> {
    let Some(goal) = record.goal.get(name) else { return Ok(String::new()) };
    let missed = counted(record, name)? - goal;
    let missed = if missed > 0.0 { format!(", missed by {}", grouped(missed)) } else { String::new() };
    Ok(grouped(*goal) + &missed)
}

fn before(record: &Record, name: &str) -> Result<String, Failure> {
    Ok(record.before.get(name).copied().map_or_else(String::new, grouped))
}

fn beside(record: &Record, name: &str) -> Result<String, Failure> {
    let Some(other) = record.beside.get(name) else { return Ok(String::new()) };
    Ok(format!("{}: {}", operation(record, other)?, grouped(counted(record, other)?)))
}

fn speed(record: &Record, name: &str) -> Result<String, Failure> {
    let Some(other) = record.beside.get(name) else { return Ok(String::new()) };
    Ok(format!("{:.2}", counted(record, other)? / counted(record, name)?))
}

/// With a comma before every three digits, from 10,000 on; one decimal if it is not 0.
fn grouped(number: f64) -> String {
    let text = format!("{number:.1}");
    let (whole, decimal) = text.split_once('.').unwrap_or((&text, "0"));
    let decimal = if decimal == "0" { String::new() } else { format!(".{decimal}") };
    if whole.len() < 5 {
        return format!("{whole}{decimal}");
    }
    let mut grouped = String::new();
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &decimal
}

#[cfg(test)]
mod tests {
    use super::{between, grouped, put, table};
    use crate::instructions::record::Record;

    const RECORD: &str = "\
command = \"cargo bench -p nothing\"
commit = \"1a2b3c4d\"
date = \"2026-11-28\"
rustc = \"1.95.0\"
[instructions]
crate = 12000.0
one = 16.5
other = 10000.0
[goal]
one = 15
other = 12000
[beside]
other = \"crate\"
[what]
other = \"data\"
crate = \"a crate\"
one = \"a call\"
";

    #[test]
    fn a_table_has_the_operations_in_their_order_with_goals_that_are_missed() {
        let expected = "\
Counted on 1a2b3c4d (2026-11-28), rustc 1.95.0, by
`cargo bench -p nothing`.

| operation | goal | counted | beside it | speed, that beside it is 1 |
|---|---:|---:|---:|---:|
| data | 12,000 | 10,000 | a crate: 12,000 | 1.20 |
| a call | 15, missed by 1.5 | 16.5 | | |
";
        let record = Record::parse(RECORD).unwrap();
        assert_eq!(table(&record).unwrap(), expected);
        let outside = table(&Record { commit: None, ..record }).unwrap();
        assert!(outside.starts_with("Counted outside a checkout of git, rustc 1.95.0, by"), "{outside}");
    }

    #[test]
    fn earlier_numbers_have_a_column_and_their_commit() {
        let before = "before_commit = \"0a0b0c0d\"\nbefore_date = \"2026-11-27\"\n";
        let record = format!("{before}{RECORD}[before]\none = 20\n");
        let table = table(&Record::parse(&record).unwrap()).unwrap();
        assert!(table.contains("nothing`; *before*: on 0a0b0c0d (2026-11-27).\n"), "{table}");
        assert!(table.contains("\n| a call | 15, missed by 1.5 | 20 | 16.5 | | |\n"), "{table}");
    }

    #[test]
    fn bytes_are_told_from_instructions() {
        let record =
            Record::parse(&format!("{RECORD}new = \"a connection\"\n[bytes]\nnew = 20000\n")).unwrap();
        let table = table(&record).unwrap();
        assert!(table.ends_with("| a connection | | 20,000 bytes | | |\n"), "{table}");
    }

    #[test]
    fn a_number_of_no_operation_is_refused_and_so_is_an_operation_without_a_number() {
        for section in ["instructions", "bytes", "before", "goal"] {
            let record = Record::parse(&format!("{RECORD}[{section}]\nlost = 1\n")).unwrap();
            assert_eq!(table(&record), Err("lost: there is no such operation".to_owned()));
        }
        let record = Record::parse(&format!("{RECORD}new = \"a new one\"\n")).unwrap();
        assert_eq!(table(&record), Err("new: no number is recorded".to_owned()));
    }

    #[test]
    fn only_what_is_between_the_marks_of_a_name_is_replaced() {
        let page = "above\n<!-- one -->\nold\n<!-- end -->\n\n<!-- two -->\nkept\n<!-- end -->\nbelow\n";
        let new = put(page, "one", "new\nlines\n").unwrap();
        assert_eq!(new, page.replace("old", "new\nlines"));
        assert_eq!(between(&new, "one"), Some("new\nlines\n"));
        assert_eq!(between(&new, "two"), Some("kept\n"));
        assert_eq!(between(&new, "three"), None);
        assert!(put(page, "three", "").unwrap_err().contains("<!-- three -->"));
    }

    #[test]
    fn numbers_of_five_digits_and_more_have_commas() {
        let texts = [16.0, 2393.2, 9999.0, 10_000.0, 607_639.9, 4_040_032.0].map(grouped);
        assert_eq!(texts, ["16", "2393.2", "9999", "10,000", "607,639.9", "4,040,032"]);
    }
}
