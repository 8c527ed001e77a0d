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
