//! smbd against perftest on the same device, one after the other, again and again: the medians of the ratios.
//!
//! perftest has no protocol at all, so it is what the device and its provider can do. Each round measures perftest and smbd; the ratio of a
//! round is smbd to the better of perftest's modes, polling and events, so that what the machine does besides hits all alike. perftest is
//! asked for the same as smbd, as many operations under way and a report of each, and once more as it comes.

mod ours;
mod perftest;
mod rounds;
mod subject;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::case::Failure;
use ours::Tools;
use perftest::{Mode, Perftest};
use rounds::{Rounds, TRIES};
use subject::{SUBJECTS, Subject};

/// How to compare.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// How many times each is measured.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The folder of smbd-echo and smbd-perf (default: that of this program).
    #[arg(long)]
    tools: Option<PathBuf>,
    /// The device's name for perftest.
    #[arg(long, env = "RDMA_DEVICE")]
    device: String,
    /// Only subjects whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// How often perftest does the operations that take software devices a second or two: others need more of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
    /// Microseconds that smbd looks for completions before it sleeps; its own choice if not given.
    #[arg(long)]
    spin: Option<u64>,
}

/// Measures, and prints a table in Markdown. Whether all goals were reached.
pub(crate) fn run(address: IpAddr, options: &Options) -> Result<bool, Failure> {
    let tools = Tools::find(options.tools.as_deref(), options.spin)?;
    let wanted =
        |subject: &&Subject| options.only.as_ref().is_none_or(|part| subject.name.contains(part.as_str()));
    let mut all: Vec<_> = SUBJECTS.iter().filter(wanted).map(Rounds::new).collect();
    let mut place = Place {
        tools,
        address,
        device: &options.device,
        times: options.times,
        has_perftest: perftest::is_installed(),
        port: 21_000,
    };
    for round in 1..=options.rounds {
        for rounds in &mut all {
            let said = match rounds.play(&mut place) {
                Some(round) => round.to_string(),
                None => format!("no result in {TRIES} tries"),
            };
            eprintln!("round {round} of {}, {}: {said}", options.rounds, rounds.subject.name);
        }
    }
    println!(
        "| {} | smbd | perftest, the same | ratio (rounds) | goal | perftest, as it comes | ratio (rounds) | posts | completions | again |",
        options.device
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let reached: Vec<_> = all.iter().map(|rounds| rounds.print(&options.device)).collect();
    Ok(reached.into_iter().all(|reached| reached))
}

/// Where it is measured, and with what.
struct Place<'o> {
    tools: Tools,
    address: IpAddr,
    device: &'o str,
    times: u32,
    has_perftest: bool,
    port: u16,
}

impl Place<'_> {
    fn next_port(&mut self) -> u16 {
        self.port += 1;
        self.port
    }

    /// The better of perftest's two modes, polling and events. Neither works everywhere.
    fn perftest(&mut self, subject: &Subject, is_same: bool) -> Option<f64> {
        let modes = [false, true].map(|events| {
            let port = self.next_port();
            let Self { address, device, times, .. } = *self;
            Perftest { address, device, times, mode: Mode { events, is_same } }.measure(subject, port)
        });
        modes.into_iter().flatten().reduce(|one, other| subject.better(one, other))
    }
}

/// A server that is ended when it is left, with all that it has started: `timeout` that is killed leaves its program behind.
struct Server(Child);

impl Server {
    fn start(command: &mut Command) -> std::io::Result<Self> {
        command.process_group(0).spawn().map(Self)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.0.wait();
    }
}

/// The value in the middle, or between the two that are.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(lower, upper))
}
