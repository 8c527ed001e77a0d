//! What the program says.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

use crate::trouble::Trouble;

/// A line on standard output. Whoever has closed it wants no more, and that is all.
///
/// # Errors
/// It cannot be written: its disk is full, for example.
pub(crate) fn line(text: impl Display) -> Result<(), Trouble> {
    self::text(format_args!("{text}\n")).map_err(Trouble::Failed)
}

/// The same, as it is.
///
/// # Errors
/// As of [`line()`], as it is told.
pub(crate) fn text(text: impl Display) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A line on standard error, behind the name of the program. That it cannot be written changes nothing.
pub(crate) fn trouble(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "smbd-cp: {text}");
}
