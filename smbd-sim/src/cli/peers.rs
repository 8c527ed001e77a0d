//! `smbd-sim peers`: runs against models of foreign peers.

use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use indicatif::{ProgressBar, ProgressStyle};
use smbd_sim::peers::{self, Kind, Plan, Summary, Verdict};
use smbd_sim::trace::Trace;

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
    #[arg(long, requires = "seed")]
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

/// Exit code 0, 1 if a run failed, 2 if the table could not be written.
pub fn run(args: &PeersArgs) -> ExitCode {
    let kinds = if args.models.is_empty() { Kind::ALL } else { &args.models };
    if let Some(seed) = args.seed {
        let passed = kinds.iter().filter(|kind| one(**kind, seed, args.trace)).count();
        return if passed == kinds.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let summary: Summary = kinds.iter().map(|kind| (*kind, many(*kind, args))).collect();
    let table = peers::table(&summary);
    print!("{table}");
    for (kind, row) in &summary {
        for (seed, what) in &row.failures {
            println!("{} seed {seed}: {what}", kind.name());
            println!("  smbd-sim peers --model {} --seed {seed} --trace", kind.name());
        }
    }
    if let Some(path) = &args.write
        && let Err(error) = write(path, &table)
    {
        eprintln!("smbd-sim peers: {}: {error}", path.display());
        return ExitCode::from(2);
    }
    let failed: usize = summary.values().map(|row| row.failures.len()).sum();
    let runs: u64 = summary.values().map(|row| row.runs).sum();
    println!("runs: {} passed, {failed} failed", runs - failed as u64);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
fn one(kind: Kind, seed: u64, trace: bool) -> bool {
    let plan = Plan::of(kind, seed);
    println!("{plan:#?}");
    let report = peers::run(&plan, trace.then(Trace::kept));
    if let Some(text) = &report.trace {
        print!("{text}");
    }
    if let Some(exception) = report.exception {
        println!("excepted: {}", exception.reason);
    }
    match &report.verdict {
        Verdict::Delivered => println!("{} seed {seed}: delivered and quiet", kind.name()),
        Verdict::Stalled => println!("{} seed {seed}: stalled by the peer's own rules", kind.name()),
        Verdict::Failed(what) => println!("{} seed {seed}: FAILED: {what}", kind.name()),
    }
    !matches!(report.verdict, Verdict::Failed(_))
}

const BEGIN: &str = "<!-- begin: smbd-sim peers -->\n";
const END: &str = "<!-- end: smbd-sim peers -->";

fn write(path: &PathBuf, table: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(path)?;
    let split = text.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let Some((head, tail)) = split else {
        return Err(io::Error::other(format!("no {} and {END} in it", BEGIN.trim())));
    };
    std::fs::write(path, format!("{head}{BEGIN}\n{table}\n{END}{tail}"))
}
