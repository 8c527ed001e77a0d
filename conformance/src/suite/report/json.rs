//! A report as one JSON object.

use std::io::{self, Write};

use super::Report;

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, report)?;
    writeln!(out)
}
