//! What the tests have in common.

pub use smbd_testkit::content;
pub use smbd_testkit::tester::{PASSWORD, login, login_as, settings};

/// A folder of a test's own, empty.
pub fn folder(test: &str) -> std::path::PathBuf {
    smbd_testkit::folder(concat!(env!("CARGO_TARGET_TMPDIR"), "/serve"), test)
}

/// A line of a log without its time, whose level is one of these.
pub fn said(line: &str) -> String {
    let (time, rest) = line.split_at(27);
    assert!(time.ends_with('Z') && time.contains('T'), "{line}");
    let level = ["  INFO ", "  WARN "].iter().find_map(|level| rest.strip_prefix(level));
    level.unwrap_or_else(|| panic!("{line}")).to_owned()
}
