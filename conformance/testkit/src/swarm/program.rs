//! The program of a swarm: its seeds, and what it ends with.

use std::ops::Range;
use std::process::ExitCode;

use clap::{Args, Parser};
use indicatif::{ProgressBar, ProgressStyle};
use smbd_program::output;

use super::summary::Summary;

/// Seeds of a command line.
#[derive(Debug, Args)]
pub struct Seeds {
    /// Seeds: A..B, B not included
    #[arg(long, value_name = "A..B", value_parser = range, default_value = "0..1000")]
    seeds: Range<u64>,
    /// One seed, with all of its steps
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
}

/// Reads A..B.
fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("no seed in it".to_owned()) } else { Ok(range) }
}

impl Seeds {
    /// Plays them. `one` prints all of one seed; `many` sums up many of them, and says how many more are done.
    ///
    /// # Errors
    /// The text for a person, if standard output cannot be written.
    pub fn play(
        self,
        one: impl FnOnce(u64) -> Result<ExitCode, String>,
        many: impl FnOnce(Range<u64>, &(dyn Fn(u64) + Sync)) -> Summary,
    ) -> Result<ExitCode, String> {
        if let Some(seed) = self.seed {
            return one(seed);
        }
        let bar = ProgressBar::new(self.seeds.end - self.seeds.start);
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let summary = many(self.seeds, &|more| bar.inc(more));
        bar.finish_and_clear();
        output::write(&summary.to_string())?;
        Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The program `name`: reads its arguments and plays.
pub fn main<A: Parser>(name: &'static str, play: impl FnOnce(A) -> Result<ExitCode, String>) -> ExitCode {
    match output::options(name) {
        Ok(arguments) => output::conclude(name, play(arguments)),
        Err(printed) => printed,
    }
}
