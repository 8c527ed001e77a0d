//! Log lines on standard output. Whoever keeps them adds the time.

use std::fmt::Arguments;
use std::io::Write as _;

use smbd_broker::broker::Log;

/// Writes a line. That nobody reads it is no reason to end.
pub(crate) fn line(line: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// What a broker tells.
pub(crate) fn broker(log: &Log) {
    line(format_args!("{log}"));
}
