//! Seeds of a command line.

use std::ops::Range;

/// Reads A..B.
pub fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("no seed in it".to_owned()) } else { Ok(range) }
}
