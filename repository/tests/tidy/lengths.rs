//! Files are short enough to be read at once.

use std::fs;
use std::path::Path;

use crate::files;

/// Lines of a file, and of one that holds only tests.
const LINES_MAX: usize = 400;
const TEST_LINES_MAX: usize = 650;

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "testkit")
        || path.ends_with("tests.rs")
}

#[test]
fn no_file_is_longer_than_400_lines_or_650_of_tests() {
    let sources = files(&["rs"]);
    assert!(sources.len() > 500, "{}", sources.len());
    let too_long: Vec<_> = sources
        .iter()
        .filter_map(|path| {
            let lines = fs::read_to_string(path).unwrap().lines().count();
            let max = if is_test(path) { TEST_LINES_MAX } else { LINES_MAX };
            (lines > max).then(|| format!("{}: {lines} lines, {max} are allowed", path.display()))
        })
        .collect();
    assert!(too_long.is_empty(), "cut these:\n{}", too_long.join("\n"));
}
