//! Messages of the running server.

use std::fmt;
use std::io::Write as _;

/// A line on standard output. That nobody reads it is no reason to stop serving.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    // As said.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
