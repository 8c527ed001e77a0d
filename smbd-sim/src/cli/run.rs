//! `smbd-sim run`: swarm runs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use smbd_program::output::Output;
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter};
use smbd_sim::loops::{self, LoopPlan};
use smbd_sim::nic::Personality;
use smbd_sim::probe::Probe;
use smbd_sim::swarm::{self, FaultLevel, Options, Plan, Profile};
use smbd_sim::trace::{Pcap, Trace};

use super::names::{DRIVERS, Driver, FAULTS, PERSONALITIES, PROFILES, name_of, one_of};
use super::output::{Outcome, Trouble, conclude};

/// Runs connections under faults, in virtual time; a seed decides everything.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// One seed, with its whole plan
    #[arg(long, conflicts_with = "seeds", required_unless_present = "seeds")]
    seed: Option<u64>,
    /// Many seeds: A..B, B not included
    #[arg(long, value_parser = parse_range)]
    seeds: Option<Range<u64>>,
    /// Parameters of both sides
    #[arg(long, value_parser = one_of(PROFILES), default_value = "random")]
    profile: Profile,
    /// Kind of network; drawn by the seed if left out
    #[arg(long, value_parser = one_of(PERSONALITIES))]
    personality: Option<Personality>,
    /// How much goes wrong
    #[arg(long, value_parser = one_of(FAULTS), default_value = "none")]
    faults: FaultLevel,
    /// Both ends are driven by loops of `smbd_link`, one of them by this one
    #[arg(long = "loop", value_name = "LOOP", value_parser = one_of(DRIVERS))]
    driver: Option<Driver>,
    /// Writes the trace of the seed to a file (`-`: to standard output)
    #[arg(long, value_name = "FILE", requires = "seed", conflicts_with = "seeds")]
    trace: Option<PathBuf>,
    /// Writes the frames of the seed to a capture, every connection of the run
    #[arg(long, value_name = "FILE", requires = "seed", conflicts_with = "seeds")]
    pcap: Option<PathBuf>,
}

pub(super) fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("no seed in it".to_owned()) } else { Ok(range) }
}

impl RunArgs {
    fn options(&self) -> Options {
        Options { profile: self.profile, personality: self.personality, faults: self.faults }
    }

    /// The options as they are written, for the command that reproduces a failure.
    fn as_written(&self) -> String {
        let (profile, faults) = (name_of(PROFILES, self.profile), name_of(FAULTS, self.faults));
        let mut text = format!("--profile {profile} --faults {faults}");
        if let Some(personality) = self.personality {
            text += &format!(" --personality {}", name_of(PERSONALITIES, personality));
        }
        if let Some(driver) = self.driver {
            text += &format!(" --loop {}", name_of(DRIVERS, driver));
        }
        text
    }

    fn plan(&self, seed: u64) -> Work {
        let options = self.options();
        match self.driver {
            None => Work::Swarm(Plan::of(seed, &options)),
            Some(Driver(driver)) => Work::Loops(LoopPlan::of(seed, &options, driver)),
        }
    }
}

/// What one seed does.
enum Work {
    /// The swarm's own hosts and upper layers.
    Swarm(Plan),
    /// Loops of the runtime.
    Loops(LoopPlan),
}

impl Work {
    const fn plan(&self) -> &Plan {
        match self {
            Self::Swarm(plan) => plan,
            Self::Loops(loops) => &loops.plan,
        }
    }

    fn run<F: Probe + 'static>(&self, trace: Option<Trace>, frames: F) -> (swarm::Report, F) {
        match self {
            Self::Swarm(plan) => swarm::run_showing(plan, trace, frames),
            Self::Loops(plan) => loops::run_showing(plan, trace, frames),
        }
    }
}

/// Exit code 0, 1 if a run failed, 2 if a file or standard output cannot be written.
pub fn run(args: &RunArgs) -> ExitCode {
    conclude(try_run(args, &mut Output::standard()), "smbd-sim run")
}

fn try_run(args: &RunArgs, out: &mut impl Write) -> Outcome {
    let summary = match args.seed {
        Some(seed) => one(&args.plan(seed), args, out)?,
        None => many(args.seeds.clone().unwrap_or(0..1), &args.options(), args.driver),
    };
    write!(out, "{summary}")?;
    let failed = summary.failures.len() as u64;
    for (seed, failure) in &summary.failures {
        writeln!(out, "seed {seed}: {failure}")?;
        writeln!(out, "  smbd-sim run --seed {seed} {} --trace -", args.as_written())?;
    }
    writeln!(out, "runs: {} passed, {failed} failed", summary.runs - failed)?;
    out.flush()?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// With a bar on a terminal; hidden elsewhere.
fn many(seeds: Range<u64>, options: &Options, driver: Option<Driver>) -> swarm::Summary {
    let bar = ProgressBar::new(seeds.end - seeds.start);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let done = |done| bar.inc(done);
    let summary = match driver {
        None => swarm::run_seeds(seeds, options, &done),
        Some(Driver(driver)) => loops::run_seeds(seeds, options, driver, &done),
    };
    bar.finish_and_clear();
    summary
}

/// Files are made first: a wrong place is known before the work.
fn one(work: &Work, args: &RunArgs, out: &mut impl Write) -> Result<swarm::Summary, Trouble> {
    let pcap = args.pcap.as_deref().map(|path| capture_file(work.plan(), path)).transpose()?;
    let to_file = args.trace.as_deref().filter(|path| *path != Path::new("-"));
    let trace_file = to_file.map(|path| create("--trace", path)).transpose()?;
    match work {
        Work::Swarm(plan) => writeln!(out, "{plan:#?}")?,
        Work::Loops(plan) => writeln!(out, "{plan:#?}")?,
    }
    let trace = args.trace.as_ref().map(|_| Trace::kept());
    let report = match (pcap, &args.pcap) {
        (Some(file), Some(path)) => {
            captured(work, trace, file).map_err(|error| named("--pcap", path, &error))?
        }
        _ => work.run(trace, ()).0,
    };
    if let Some(text) = &report.trace {
        match (trace_file, &args.trace) {
            (Some(mut file), Some(path)) => {
                let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
                written.map_err(|error| named("--trace", path, &error))?;
            }
            _ => write!(out, "{text}")?,
        }
    }
    let mut summary = swarm::Summary::default();
    summary.take(&report);
    Ok(summary)
}

fn named(option: &str, path: &Path, error: &io::Error) -> String {
    format!("{option} {}: {error}", path.display())
}

fn create(option: &str, path: &Path) -> Result<BufWriter<File>, String> {
    File::create(path).map(BufWriter::new).map_err(|error| named(option, path, &error))
}

/// The file for the frames of a run that has some.
fn capture_file(plan: &Plan, path: &Path) -> Result<BufWriter<File>, String> {
    if path == Path::new("-") {
        return Err("--pcap -: a capture needs a file; standard output has the report".into());
    }
    if plan.hostile.is_some() {
        return Err(format!(
            "--pcap {}: no capture: the peer of seed {} is a script, which speaks to the connection without a device",
            path.display(),
            plan.seed
        ));
    }
    create("--pcap", path)
}

/// A run whose frames go to a capture.
fn captured(work: &Work, trace: Option<Trace>, file: BufWriter<File>) -> io::Result<swarm::Report> {
    Ok(match work.plan().personality {
        Personality::Roce => {
            let pcap = Pcap::new(RoceWriter::roce(file, Link::roce())?);
            let (report, pcap) = work.run(trace, pcap);
            pcap.finish()?.flush()?;
            report
        }
        Personality::Iwarp => {
            let pcap = Pcap::new(IwarpWriter::iwarp(file, Link::iwarp())?);
            let (report, pcap) = work.run(trace, pcap);
            pcap.finish()?.flush()?;
            report
        }
    })
}
