//! `smbd-sim run`: swarm runs.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter};
use smbd_sim::nic::Personality;
use smbd_sim::swarm::{self, FaultLevel, Options, Plan, Profile};
use smbd_sim::trace::{Pcap, Trace};

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
    #[arg(long, value_enum, default_value = "random")]
    profile: ProfileArg,
    /// Kind of network; drawn by the seed if left out
    #[arg(long, value_enum)]
    personality: Option<PersonalityArg>,
    /// How much goes wrong
    #[arg(long, value_enum, default_value = "none")]
    faults: FaultsArg,
    /// Writes the trace of the seed to a file (`-`: to standard output)
    #[arg(long, requires = "seed")]
    trace: Option<String>,
    /// Writes the frames of the seed to a capture, every connection of the run
    #[arg(long, value_name = "FILE", requires = "seed")]
    pcap: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileArg {
    Random,
    Windows,
    LinuxClient,
    LinuxServer,
    Example,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PersonalityArg {
    Roce,
    Iwarp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FaultsArg {
    None,
    Light,
    Heavy,
}

pub(super) fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|error| format!("{text:?}: {error}"));
    let range = number(from)?..number(to)?;
    if range.is_empty() { Err("no seed in it".to_owned()) } else { Ok(range) }
}

impl RunArgs {
    fn options(&self) -> Options {
        Options {
            profile: match self.profile {
                ProfileArg::Random => Profile::Random,
                ProfileArg::Windows => Profile::Windows,
                ProfileArg::LinuxClient => Profile::LinuxClient,
                ProfileArg::LinuxServer => Profile::LinuxServer,
                ProfileArg::Example => Profile::Example,
            },
            personality: self.personality.map(|personality| match personality {
                PersonalityArg::Roce => Personality::Roce,
                PersonalityArg::Iwarp => Personality::Iwarp,
            }),
            faults: match self.faults {
                FaultsArg::None => FaultLevel::None,
                FaultsArg::Light => FaultLevel::Light,
                FaultsArg::Heavy => FaultLevel::Heavy,
            },
        }
    }

    /// The options as they are written, for the command that reproduces a failure.
    fn as_written(&self) -> String {
        let name = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        let mut text = format!(
            "--profile {} --faults {}",
            name(self.profile.to_possible_value()),
            name(self.faults.to_possible_value())
        );
        if let Some(personality) = self.personality {
            text += &format!(" --personality {}", name(personality.to_possible_value()));
        }
        text
    }
}

/// Exit code 0, 1 if a run failed, 2 if a file could not be written.
pub fn run(args: &RunArgs) -> ExitCode {
    let options = args.options();
    let seeds = args.seed.map_or_else(|| args.seeds.clone().unwrap_or(0..1), |seed| seed..seed + 1);
    let summary = match args.seed {
        Some(seed) => match one(seed, args, &options) {
            Ok(summary) => summary,
            Err(error) => {
                eprintln!("smbd-sim run: {error}");
                return ExitCode::from(2);
            }
        },
        None => many(seeds, &options),
    };
    print!("{summary}");
    let failed = summary.failures.len() as u64;
    for (seed, failure) in &summary.failures {
        println!("seed {seed}: {failure}");
        println!("  smbd-sim run --seed {seed} {} --trace -", args.as_written());
    }
    println!("runs: {} passed, {failed} failed", summary.runs - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// With a bar on a terminal; hidden elsewhere.
fn many(seeds: Range<u64>, options: &Options) -> swarm::Summary {
    let bar = ProgressBar::new(seeds.end - seeds.start);
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let summary = swarm::run_seeds(seeds, options, &|done| bar.inc(done));
    bar.finish_and_clear();
    summary
}

fn one(seed: u64, args: &RunArgs, options: &Options) -> Result<swarm::Summary, String> {
    let plan = Plan::of(seed, options);
    println!("{plan:#?}");
    let trace = args.trace.as_ref().map(|_| Trace::kept());
    let report = match &args.pcap {
        None => swarm::run(&plan, trace),
        Some(path) => captured(&plan, trace, path).map_err(|error| format!("{}: {error}", path.display()))?,
    };
    if let (Some(path), Some(text)) = (&args.trace, &report.trace) {
        if path == "-" {
            print!("{text}");
        } else {
            std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    let mut summary = swarm::Summary::default();
    summary.take(&report);
    Ok(summary)
}

/// A run whose frames go to a capture.
fn captured(plan: &Plan, trace: Option<Trace>, path: &Path) -> io::Result<swarm::Report> {
    if plan.hostile.is_some() {
        return Err(io::Error::other(format!(
            "no capture: the peer of seed {} is a script, which speaks to the connection without a device",
            plan.seed
        )));
    }
    let file = BufWriter::new(File::create(path)?);
    Ok(match plan.personality {
        Personality::Roce => {
            let pcap = Pcap::new(RoceWriter::roce(file, Link::roce())?);
            let (report, pcap) = swarm::run_showing(plan, trace, pcap);
            pcap.finish()?.flush()?;
            report
        }
        Personality::Iwarp => {
            let pcap = Pcap::new(IwarpWriter::iwarp(file, Link::iwarp())?);
            let (report, pcap) = swarm::run_showing(plan, trace, pcap);
            pcap.finish()?.flush()?;
            report
        }
    })
}
