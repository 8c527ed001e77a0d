//! Writes captures.

pub mod format;
