//! What the program says.

use std::fmt::Display;
use std::io::{self, Write as _};

use smbd_program::output::write;

use crate::trouble::Trouble;

/// A line on standard output. Whoever has closed it wants no more, and that is all.
///
/// # Errors
/// It cannot be written: its disk is full, for example.
pub(crate) fn line(text: impl Display) -> Result<(), Trouble> {
    write(&format!("{text}\n")).map_err(Trouble::Failed)
}

/// A line on standard error, behind the name of the program. That it cannot be written changes nothing.
pub(crate) fn trouble(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "smbd-cp: {text}");
}
