//! Tests that show nothing here.

use std::fs;

use super::files;

/// Whether a text prints that a test is skipped: its harness hides what is printed.
fn hides(text: &str) -> bool {
    let mut printed = text.split("println!(").skip(1).filter_map(|rest| rest.split(';').next());
    printed.any(|printed| printed.contains("skipped: "))
}

#[test]
fn no_test_is_skipped_where_nobody_sees_it() {
    let found: Vec<_> = files(&["rs"])
        .into_iter()
        .filter(|path| !path.ends_with(file!()) && hides(&fs::read_to_string(path).unwrap()))
        .map(|path| path.display().to_string())
        .collect();
    assert!(found.is_empty(), "say it with `smbd_repository::skipped`, or fail:\n{}", found.join("\n"));
}
