//! What a tool says.

use std::io::{self, Write as _};

/// Writes `what` to standard error, and a second line with `advice` if there is one. Drops them if they cannot be
/// written.
pub fn complain(what: &str, advice: Option<&str>) {
    let advice = advice.map_or_else(String::new, |advice| format!("  check: {advice}\n"));
    _ = io::stderr().write_all(format!("{what}\n{advice}").as_bytes());
}
