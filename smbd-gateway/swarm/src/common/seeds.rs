//! Seeds of a command line.

use std::ops::Range;

use indicatif::{ProgressBar, ProgressStyle};

/// Reads A..B.
pub fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("no seed in it".to_owned()) } else { Ok(range) }
}

/// What comes of many seeds, with a bar on a terminal meanwhile: `run` says how many more are done.
pub fn shown<S>(seeds: Range<u64>, run: impl FnOnce(Range<u64>, &(dyn Fn(u64) + Sync)) -> S) -> S {
    let bar = ProgressBar::new(seeds.end - seeds.start);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let sum = run(seeds, &|more| bar.inc(more));
    bar.finish_and_clear();
    sum
}
