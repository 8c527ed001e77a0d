//! smbd against perftest on the same device, one after the other, again and again: the medians of the ratios.
//!
//! perftest has no protocol at all, so it is what the device and its provider can do. Each round measures perftest polling,
//! perftest with events, and smbd; the ratio of a round is smbd to the better of the two, so that what the machine does
//! besides hits all alike.

mod ours;
mod perftest;
mod subject;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Child;

use crate::case::Failure;
use ours::Tools;
use subject::{Measured, SUBJECTS, Subject};

/// How to compare.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// How many times each is measured.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
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
    /// Microseconds that smbd looks for completions before it sleeps; its own choice if not given.
    #[arg(long)]
    spin: Option<u64>,
}

/// The rounds of one subject.
struct Rounds {
    subject: &'static Subject,
    ours: Vec<Measured>,
    polling: Vec<Option<f64>>,
    events: Vec<Option<f64>>,
}

/// Measures, and prints a table in Markdown. Whether all goals were reached.
pub(crate) fn run(address: IpAddr, options: &Options) -> Result<bool, Failure> {
    let tools = Tools::find(options.tools.as_deref(), options.spin)?;
    let wanted =
        |subject: &&Subject| options.only.as_ref().is_none_or(|part| subject.name.contains(part.as_str()));
    let mut all: Vec<_> = SUBJECTS.iter().filter(wanted).map(Rounds::new).collect();
    let mut port = 21_000;
    for round in 1..=options.rounds {
        for rounds in &mut all {
            let subject = rounds.subject;
            let mut next_port = || {
                port += 1;
                port
            };
            rounds.polling.push(perftest::measure(subject, address, &options.device, next_port(), false));
            rounds.events.push(perftest::measure(subject, address, &options.device, next_port(), true));
            rounds.ours.push(tools.measure(subject, address, next_port())?);
            eprintln!("round {round} of {}, {}: {}", options.rounds, subject.name, rounds.last());
        }
    }
    println!(
        "| {} | smbd | perftest, polling | perftest, events | ratio (rounds) | goal | posts | completions |",
        options.device
    );
    println!("|---|---|---|---|---|---|---|---|");
    let reached: Vec<_> = all.iter().map(Rounds::print).collect();
    Ok(reached.into_iter().all(|reached| reached))
}

impl Rounds {
    fn new(subject: &'static Subject) -> Self {
        Self { subject, ours: Vec::new(), polling: Vec::new(), events: Vec::new() }
    }

    /// The better of perftest's two modes in a round. Polling is the better one as a rule, so a round without it does not
    /// count; events do not work everywhere.
    fn bar(&self, round: usize) -> Option<f64> {
        let polling = self.polling.get(round).copied().flatten()?;
        let events = self.events.get(round).copied().flatten();
        Some(events.map_or(polling, |events| self.subject.better(polling, events)))
    }

    /// smbd to the better of perftest's two modes, for each round that has both.
    fn ratios(&self) -> Vec<f64> {
        let ratio = |(round, ours): (usize, &Measured)| self.bar(round).map(|bar| ours.value / bar);
        self.ours.iter().enumerate().filter_map(ratio).collect()
    }

    fn last(&self) -> String {
        let ratio = self.ratios().last().map_or("-".into(), |ratio| format!("{ratio:.2}"));
        let ours = self.ours.last().map_or(0.0, |measured| measured.value);
        let show = |mode: &[Option<f64>]| {
            mode.last().copied().flatten().map_or("-".into(), |value| format!("{value:.1}"))
        };
        format!(
            "{ours:.1}, perftest {} polling, {} events, ratio {ratio}",
            show(&self.polling),
            show(&self.events)
        )
    }

    /// Prints a row; whether the goal was reached.
    fn print(&self) -> bool {
        let ratio = median(self.ratios());
        let reached = ratio.is_some_and(|ratio| self.subject.reaches(ratio));
        let show = |values: Vec<f64>| median(values).map_or("-".into(), |value| format!("{value:.1}"));
        let mode = |values: &[Option<f64>]| show(values.iter().copied().flatten().collect());
        println!(
            "| {} | {} {} | {} | {} | {} ({}) | {}{} | {:.3} | {:.3} |",
            self.subject.name,
            show(self.ours.iter().map(|measured| measured.value).collect()),
            self.subject.unit,
            mode(&self.polling),
            mode(&self.events),
            ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
            self.ratios().iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" "),
            self.subject.goal(),
            if reached { "" } else { " (missed)" },
            median(self.ours.iter().map(|measured| measured.posts).collect()).unwrap_or(0.0),
            median(self.ours.iter().map(|measured| measured.completions).collect()).unwrap_or(0.0),
        );
        reached
    }
}

/// A server that is ended when it is left.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
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
