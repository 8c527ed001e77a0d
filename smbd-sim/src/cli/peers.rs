//! `smbd-sim peers`: runs against models of foreign peers.

use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use indicatif::{ProgressBar, ProgressStyle};
use smbd_program::output::Output;
use smbd_sim::peers::{self, Kind, Plan, Summary, Verdict};
use smbd_sim::trace::Trace;

use super::output::{Outcome, Trouble, conclude};
use super::run::parse_range;

/// Runs connections against models of foreign peers, in virtual time; a seed decides everything.
#[derive(Debug, clap::Args)]
pub struct PeersArgs {
    /// Models, all if left out
    #[arg(long = "model", value_name = "NAME", value_parser = models())]
    models: Vec<Kind>,
    /// Seeds, each for every model: A..B, B not included
    #[arg(long, value_name = "A..B", value_parser = parse_range, default_value = "0..2000")]
    seeds: Range<u64>,
    /// One seed, with its whole plan
    #[arg(long, conflicts_with = "seeds", requires = "models")]
    seed: Option<u64>,
    /// Prints the trace of the seed
    #[arg(long, requires = "seed", conflicts_with = "seeds")]
    trace: bool,
    /// Threads, as many as there are processors if left out
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Writes the table into a file, between its two markers
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    write: Option<PathBuf>,
}

fn models() -> impl clap::builder::TypedValueParser<Value = Kind> {
    let names = PossibleValuesParser::new(Kind::ALL.iter().map(|kind| kind.name()));
    names.try_map(|name| Kind::named(&name).ok_or("no such model"))
}

/// Exit code 0, 1 if a run failed, 2 if the table or standard output cannot be written.
pub fn run(args: &PeersArgs) -> ExitCode {
    conclude(try_run(args, &mut Output::standard()), "smbd-sim peers")
}

fn try_run(args: &PeersArgs, out: &mut impl Write) -> Outcome {
    let kinds = if args.models.is_empty() { Kind::ALL } else { &args.models };
    if let Some(seed) = args.seed {
        let mut passed = true;
        for kind in kinds {
            passed &= one(*kind, seed, args.trace, out)?;
        }
        out.flush()?;
        return Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    // A wrong place is known before the work.
    if let Some(path) = &args.write {
        _ = Document::read(path)?;
    }
    let summary: Summary = kinds.iter().map(|kind| (*kind, many(*kind, args))).collect();
    let table = peers::table(&summary);
    write!(out, "{table}")?;
    for (kind, row) in &summary {
        for (seed, what) in &row.failures {
            writeln!(out, "{} seed {seed}: {what}", kind.name())?;
            writeln!(out, "  smbd-sim peers --model {} --seed {seed} --trace", kind.name())?;
        }
    }
    if let Some(path) = &args.write {
        Document::read(path)?.write(path, &table)?;
    }
    let failed: usize = summary.values().map(|row| row.failures.len()).sum();
    let runs: u64 = summary.values().map(|row| row.runs).sum();
    writeln!(out, "runs: {} passed, {failed} failed", runs - failed as u64)?;
    out.flush()?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// With a bar on a terminal; hidden elsewhere.
fn many(kind: Kind, args: &PeersArgs) -> peers::Row {
    let bar = ProgressBar::new(args.seeds.end - args.seeds.start);
    let style =
        ProgressStyle::with_template("{prefix:<28} {wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(kind.name());
    let row = peers::run_seeds(kind, args.seeds.clone(), args.threads, &|done| bar.inc(done));
    bar.finish_and_clear();
    row
}

/// `true` unless it failed.
fn one(kind: Kind, seed: u64, trace: bool, out: &mut impl Write) -> Result<bool, Trouble> {
    let plan = Plan::of(kind, seed);
    writeln!(out, "{plan:#?}")?;
    let report = peers::run(&plan, trace.then(Trace::kept));
    if let Some(text) = &report.trace {
        write!(out, "{text}")?;
    }
    if let Some(exception) = report.exception {
        writeln!(out, "excepted: {}", exception.reason)?;
    }
    let name = kind.name();
    match &report.verdict {
        Verdict::Delivered => writeln!(out, "{name} seed {seed}: delivered and quiet")?,
        Verdict::Stalled => writeln!(out, "{name} seed {seed}: stalled by the peer's own rules")?,
        Verdict::Failed(what) => writeln!(out, "{name} seed {seed}: FAILED: {what}")?,
    }
    Ok(!matches!(report.verdict, Verdict::Failed(_)))
}

const BEGIN: &str = "<!-- begin: smbd-sim peers -->\n";
const END: &str = "<!-- end: smbd-sim peers -->";

/// A document with a place for the table.
struct Document {
    before: String,
    behind: String,
}

impl Document {
    /// What is around the two markers of a file that can be written.
    fn read(path: &Path) -> Result<Self, String> {
        let named = |error| format!("--write {}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(named)?;
        File::options().append(true).open(path).map_err(named)?;
        let around =
            text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
        let (before, behind) = around
            .ok_or_else(|| format!("--write {}: no {} and {END} in it", path.display(), BEGIN.trim()))?;
        Ok(Self { before: before.into(), behind: behind.into() })
    }

    fn write(&self, path: &Path, table: &str) -> Result<(), String> {
        let Self { before, behind } = self;
        fs::write(path, format!("{before}{BEGIN}\n{table}\n{END}{behind}"))
            .map_err(|error| format!("--write {}: {error}", path.display()))
    }
}
