//! `smbd-sim soak`: a day of virtual time, idle and loaded.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use smbd_program::output::Output;
use smbd_sim::swarm::Profile;
use smbd_sim::swarm::soak::{Idle, Loaded, Soaked, idle, loaded};

use super::names::{self, PERSONALITIES, name_of};
use super::output::{Outcome, conclude};

/// Leaves pairs alone and has pairs work for a day of virtual time; in the end everything has to be as in the beginning.
///
/// Idle pairs have to say exactly what their keepalive intervals demand. Loaded ones carry random messages, RDMA and
/// registrations through faults of all kinds, reconnect and rest; every law is checked after every step.
#[derive(Debug, clap::Args)]
pub struct SoakArgs {
    /// Hours of virtual time, for each pair
    #[arg(long, default_value_t = 24.0, value_parser = parse_hours)]
    hours: f64,
    /// Decides loads and faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What this process may have more in the end than after the first pair, in bytes: allocators keep some of what they had, and
/// more of it for a while. That a pair gives back all it has is a test, which counts allocations.
const GROWTH: u64 = 8 << 20;
const MINUTE: Duration = Duration::from_secs(60);

fn parse_hours(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(hours) if hours > 0.0 && hours <= 100_000.0 => Ok(hours),
        Ok(_) => Err("must be above 0 and at most 100000".to_owned()),
        Err(_) => Err("not a number of hours".to_owned()),
    }
}

const PROFILES: [Profile; 4] = [Profile::Windows, Profile::LinuxClient, Profile::Example, Profile::Random];
/// Keepalive intervals of both sides, and how they are called.
const INTERVALS: [([Option<Duration>; 2], &str); 4] = [
    ([Some(MINUTE.saturating_mul(2)), None], "the initiator asks"),
    ([None, Some(MINUTE.saturating_mul(2))], "the acceptor asks"),
    ([Some(MINUTE.saturating_mul(2)), Some(MINUTE.saturating_mul(2))], "both ask"),
    ([Some(MINUTE.saturating_mul(2)), Some(MINUTE)], "the acceptor asks sooner"),
];

/// What is added up over all pairs.
#[derive(Default)]
struct Sum {
    passed: u32,
    failed: u32,
    /// Memory of this process after the first loaded pair and after the last.
    resident: Option<[u64; 2]>,
}

/// Exit code 0, 1 if a law was broken or something was left, 2 if standard output cannot be written.
pub fn run(args: &SoakArgs) -> ExitCode {
    conclude(try_run(args, &mut Output::standard()), "smbd-sim soak")
}

fn try_run(args: &SoakArgs, out: &mut impl Write) -> Outcome {
    let time = Duration::from_secs_f64(args.hours * 3600.0);
    let mut sum = Sum::default();
    for &(network, personality) in PERSONALITIES {
        for (intervals, name) in INTERVALS {
            let what = Idle { personality, intervals, time };
            match idle(&what) {
                Ok(soaked) => {
                    sum.note(&format!("idle {network}, {name}"), &soaked, out)?;
                    let ([one, other], asked) = (soaked.sent, what.probes());
                    writeln!(out, "  messages: {one} and {other}, for {asked} probes and as many answers")?;
                }
                Err(error) => {
                    sum.failed += 1;
                    writeln!(out, "idle {network}, {name}: FAILED: {error}")?;
                }
            }
        }
    }
    for &(network, personality) in PERSONALITIES {
        for profile in PROFILES {
            let what = Loaded { seed: args.seed, profile, personality, time };
            let (soaked, name) = (with_bar(&what), name_of(names::PROFILES, profile));
            sum.note(&format!("loaded {network}, {name}"), &soaked, out)?;
            carried(&soaked, out)?;
            sum.look_at_memory(out)?;
        }
    }
    let passed = sum.end(out)?;
    out.flush()?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a loaded pair did, and what is left of that.
fn carried(soaked: &Soaked, out: &mut impl Write) -> io::Result<()> {
    let carried = &soaked.carried;
    writeln!(
        out,
        "  {} connections, {} messages ({} MiB), {} RDMA operations ({} MiB), {} registrations, {} faults",
        soaked.connections,
        carried.messages,
        carried.bytes >> 20,
        carried.operations,
        carried.operation_bytes >> 20,
        carried.registrations,
        soaked.faults
    )?;
    writeln!(
        out,
        "  in use in the end: {}; tables {} -> {}",
        soaked.in_use[1], soaked.tables[0], soaked.tables[1]
    )
}

impl Sum {
    fn note(&mut self, name: &str, soaked: &Soaked, out: &mut impl Write) -> io::Result<()> {
        let hours = soaked.time.as_secs_f64() / 3600.0;
        let verdict = match &soaked.failure {
            None => {
                self.passed += 1;
                "passed".to_owned()
            }
            Some(failure) => {
                self.failed += 1;
                format!("FAILED: {failure}")
            }
        };
        writeln!(
            out,
            "{name}: {hours:.2} h, {} steps, {} looks at laws: {verdict}",
            soaked.steps, soaked.laws
        )
    }

    /// What this process has, where the system tells.
    fn look_at_memory(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(now) = resident() else { return Ok(()) };
        let [first, _] = self.resident.unwrap_or([now; 2]);
        self.resident = Some([first, now]);
        writeln!(out, "  memory of this process: {} KiB, {} KiB after the first", now >> 10, first >> 10)
    }

    /// All were played. Whether nothing failed.
    fn end(mut self, out: &mut impl Write) -> io::Result<bool> {
        if let Some([first, last]) = self.resident
            && last > first + GROWTH
        {
            self.failed += 1;
            let more = (last - first) >> 10;
            writeln!(out, "FAILED: this process has {more} KiB more than after the first pair")?;
        }
        writeln!(out, "soak: {} passed, {} failed", self.passed, self.failed)?;
        Ok(self.failed == 0)
    }
}

/// With a bar on a terminal; hidden elsewhere.
fn with_bar(what: &Loaded) -> Soaked {
    let minutes = |time: Duration| time.as_secs() / 60;
    let bar = ProgressBar::new(minutes(what.time));
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} minutes of virtual time, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let soaked = loaded(what, &|time| bar.set_position(minutes(time)));
    bar.finish_and_clear();
    soaked
}

/// Memory of this process in bytes (VmRSS); `None` where there is no `/proc`.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}
