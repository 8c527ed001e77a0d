//! What a connection takes, in `docs/benchmarks.md`, is what a test of `smbd-verbs` counts.

use std::fs;
use std::path::Path;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)).unwrap()
}

#[test]
fn the_table_of_what_a_connection_takes_has_the_counted_rows() {
    let counted = text("smbd-verbs/src/footprint/tests.rs");
    let rows: Vec<_> = counted.lines().map(str::trim).filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 3);
    let page = text("docs/benchmarks.md");
    for row in rows {
        assert!(page.lines().any(|line| line == row), "docs/benchmarks.md has no row {row}");
    }
}

/// Rows of the page, and what they are called where they are counted.
const ROWS: [(&str, &str); 7] = [
    ("a connection, 192 of statistics and 136 of configuration in it", "the connection"),
    ("a receive: 8 for its slot, 16 for its event", "a receive slot"),
    ("a send: 16 for its slot, 16 for its event", "a send slot"),
    ("an RDMA request", "an RDMA slot"),
    ("an RDMA operation, with its event", "an RDMA operation"),
    ("a registered segment, with its event", "a segment"),
    ("all of it for the Windows profile", "the Windows profile"),
];

#[test]
fn the_table_of_what_the_core_takes_has_the_counted_bytes() {
    let (counted, page) = (text("smbd-core/tests/footprint.rs"), text("docs/benchmarks.md"));
    let bytes = |name: &str| {
        let number = counted.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
        number.unwrap_or_else(|| panic!("{name} is not counted"))
    };
    let (_, table) = page.split_once("\n| what | bytes |\n|---|---|\n").unwrap();
    let rows: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), ROWS.len(), "{rows:?}");
    for (row, (about, name)) in rows.into_iter().zip(ROWS) {
        assert_eq!(row.replace(',', ""), format!("| {about} | {} |", bytes(name)).replace(',', ""));
    }
    assert_eq!([bytes("its statistics in it"), bytes("its configuration in it")], ["192", "136"]);
}
