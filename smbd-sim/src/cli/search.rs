//! `smbd-sim search`: everything that two connections can do, in small configurations.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use smbd_sim::search::{self, Finding, Limits, Progress, Report, Setup, Size, Verdict};

/// Searches all orders in which things can happen to two connections, in small configurations.
///
/// Without --config or --all: the small ones, which take seconds.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Configurations by name
    #[arg(long = "config", value_name = "NAME", conflicts_with = "all")]
    configs: Vec<String>,
    /// Large ones too
    #[arg(long)]
    all: bool,
    /// Lists the configurations
    #[arg(long)]
    list: bool,
    /// Stops a configuration after so many states
    #[arg(long, value_name = "N")]
    limit_states: Option<usize>,
    /// Stops a configuration after so many seconds
    #[arg(long, value_name = "S")]
    time: Option<u64>,
    /// Configurations searched at the same time, each by two threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    threads: usize,
    /// Prints a table in Markdown instead of a line for each configuration
    #[arg(long)]
    table: bool,
}

/// Exit code 0, 1 if something was found or a search was stopped, 2 if there is no such configuration.
pub fn run(args: &SearchArgs) -> ExitCode {
    let setups = match chosen(args) {
        Ok(setups) => setups,
        Err(name) => {
            eprintln!("smbd-sim search: no configuration {name:?}; see smbd-sim search --list");
            return ExitCode::from(2);
        }
    };
    if args.list {
        for setup in &setups {
            println!(
                "{:<24} {}{}",
                setup.name,
                setup.about,
                match setup.size {
                    Size::Small | Size::Medium => "",
                    Size::Large => " (--all)",
                    Size::Huge => " (by name only)",
                }
            );
        }
        return ExitCode::SUCCESS;
    }
    let reports = search_all(args, &setups);
    if args.table {
        print!("{}", search::table(&reports.iter().map(|(report, _)| report.clone()).collect::<Vec<_>>()));
    }
    let held = reports.iter().filter(|(report, _)| matches!(report.verdict, Verdict::Holds)).count();
    println!("configurations: {held} hold, {} do not", reports.len() - held);
    if held == reports.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn chosen(args: &SearchArgs) -> Result<Vec<Setup>, &str> {
    if args.configs.is_empty() {
        let all = search::all().into_iter();
        let most = if args.all { Size::Large } else { Size::Medium };
        return Ok(all.filter(|setup| args.list || setup.size <= most).collect());
    }
    args.configs.iter().map(|name| search::named(name).ok_or(name.as_str())).collect()
}

/// In the order of the configurations, with the time each took.
fn search_all(args: &SearchArgs, setups: &[Setup]) -> Vec<(Report, Duration)> {
    let bars = MultiProgress::new();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..args.threads.min(setups.len()) {
            scope.spawn(|| {
                while let Some((at, setup)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    setups.get(at).map(|setup| (at, setup))
                } {
                    let (report, took) = search_one(args, setup, &bars);
                    bars.suspend(|| show(&report, took, args.table));
                    if let Ok(mut found) = found.lock() {
                        found.push((at, report, took));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(at, ..)| *at);
    found.into_iter().map(|(_, report, took)| (report, took)).collect()
}

#[expect(clippy::disallowed_methods, reason = "how long a search may take; nothing in it asks for the time")]
fn search_one(args: &SearchArgs, setup: &Setup, bars: &MultiProgress) -> (Report, Duration) {
    let bar = bars.add(ProgressBar::new_spinner());
    let style = ProgressStyle::with_template("{prefix}: {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_prefix(setup.name);
    let mut limits = Limits::default();
    limits.states = args.limit_states.unwrap_or(limits.states).min(limits.states);
    let started = Instant::now();
    let most = args.time.map(Duration::from_secs);
    let report = search::search(setup, &limits, &mut |progress: &Progress| {
        let Progress { states, expanded, depth, bytes, .. } = *progress;
        bar.set_message(format!(
            "{states} states, {} to go, {depth} steps deep, {} MiB",
            states - expanded,
            bytes >> 20
        ));
        bar.tick();
        most.is_none_or(|most| started.elapsed() < most)
    });
    bar.finish_and_clear();
    (report, started.elapsed())
}

fn show(report: &Report, took: Duration, table: bool) {
    {
        let Progress { states, steps, depth, .. } = report.progress;
        let result = match &report.verdict {
            Verdict::Holds => "holds",
            Verdict::Unfinished => "STOPPED",
            Verdict::Broken(_) => "BROKEN",
        };
        let line = format!(
            "{:<24} {result:<8} {states:>11} states {steps:>12} steps {depth:>4} deep {:>8} of one side {:>8.1} s",
            report.name,
            report.locals,
            took.as_secs_f64()
        );
        // Standard output is for the table.
        if table { eprintln!("{line}") } else { println!("{line}") }
    }
    if let Verdict::Broken(Finding { what, detail, steps, trace }) = &report.verdict {
        eprintln!("{}: {what}: {detail}", report.name);
        for (number, step) in steps.iter().enumerate() {
            eprintln!("  {:>3}  {step}", number + 1);
        }
        eprint!("{trace}");
    }
}
