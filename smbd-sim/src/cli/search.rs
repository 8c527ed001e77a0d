//! `smbd-sim search`: all states of two connections, in small configurations.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::builder::RangedU64ValueParser;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use smbd_program::output::Output;
use smbd_sim::search::{self, Finding, Limits, Progress, Report, Setup, Size, Verdict};

use super::output::{Outcome, conclude};

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

/// Exit code 0, 1 if something was found or a search was stopped, 2 if there is no such configuration or standard output
/// cannot be written.
pub fn run(args: &SearchArgs) -> ExitCode {
    conclude(try_run(args, &mut Output::standard()), "smbd-sim search")
}

fn try_run(args: &SearchArgs, out: &mut (impl Write + Send)) -> Outcome {
    let setups =
        chosen(args).map_err(|name| format!("no configuration {name:?}; see smbd-sim search --list"))?;
    if args.list {
        for Setup { name, about, size, .. } in &setups {
            let when = match size {
                Size::Small | Size::Medium => "",
                Size::Large => " (--all)",
                Size::Huge => " (by name only)",
            };
            writeln!(out, "{name:<24} {about}{when}")?;
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let reports = search_all(args, &setups, out)?;
    if args.table {
        let reports: Vec<_> = reports.iter().map(|(report, _)| report.clone()).collect();
        write!(out, "{}", search::table(&reports))?;
    }
    let held = reports.iter().filter(|(report, _)| matches!(report.verdict, Verdict::Holds)).count();
    writeln!(out, "configurations: {held} hold, {} do not", reports.len() - held)?;
    out.flush()?;
    Ok(if held == reports.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(args: &SearchArgs) -> Result<Vec<Setup>, &str> {
    if args.configs.is_empty() {
        let all = search::all().into_iter();
        let most = if args.all { Size::Large } else { Size::Medium };
        return Ok(all.filter(|setup| args.list || setup.size <= most).collect());
    }
    args.configs.iter().map(|name| search::named(name).ok_or(name.as_str())).collect()
}

/// What all threads write to.
struct Found<'a, W> {
    reports: Vec<(usize, Report, Duration)>,
    out: &'a mut W,
    /// Why nothing more can be written, and so nothing more is searched.
    failed: Option<io::Error>,
}

/// In the order of the configurations, with the time each took.
fn search_all(
    args: &SearchArgs,
    setups: &[Setup],
    out: &mut (impl Write + Send),
) -> io::Result<Vec<(Report, Duration)>> {
    let bars = MultiProgress::new();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Found { reports: Vec::new(), out, failed: None });
    std::thread::scope(|scope| {
        for _ in 0..args.threads.min(setups.len()) {
            scope.spawn(|| {
                while let Some((at, setup)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    setups.get(at).map(|setup| (at, setup))
                } {
                    let (report, took) = search_one(args, setup, &bars);
                    let Ok(mut found) = found.lock() else { return };
                    if let Err(error) = bars.suspend(|| show(&report, took, args.table, found.out)) {
                        found.failed = Some(error);
                        next.store(setups.len(), Ordering::Relaxed);
                    }
                    found.reports.push((at, report, took));
                }
            });
        }
    });
    let Ok(Found { mut reports, failed, .. }) = found.into_inner() else { return Ok(Vec::new()) };
    if let Some(error) = failed {
        return Err(error);
    }
    reports.sort_by_key(|(at, ..)| *at);
    Ok(reports.into_iter().map(|(_, report, took)| (report, took)).collect())
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

fn show(report: &Report, took: Duration, table: bool, out: &mut impl Write) -> io::Result<()> {
    let Progress { states, steps, depth, .. } = report.progress;
    let result = match &report.verdict {
        Verdict::Holds => "holds",
        Verdict::Unfinished => "STOPPED",
        Verdict::Broken(_) => "BROKEN",
    };
    let line = format!(
        "{:<24} {result:<8} {states:>11} states {steps:>12} steps {depth:>4} deep {:>8} of one side {:>8.1} s\n",
        report.name,
        report.locals,
        took.as_secs_f64()
    );
    let mut errors = io::stderr();
    // What is on standard error is said once more by the exit code.
    if table {
        // Standard output is for the table.
        _ = errors.write_all(line.as_bytes());
    } else {
        out.write_all(line.as_bytes())?;
    }
    if let Verdict::Broken(finding) = &report.verdict {
        _ = errors.write_all(told(report.name, finding).as_bytes());
    }
    Ok(())
}

/// A finding with the way to it.
fn told(name: &str, Finding { what, detail, steps, trace }: &Finding) -> String {
    let steps = steps.iter().enumerate().map(|(number, step)| format!("  {:>3}  {step}\n", number + 1));
    format!("{name}: {what}: {detail}\n{}{trace}", steps.collect::<String>())
}
