//! `smbd-conformance run`: plays cases and reports.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::suite::report::{Report, html, json, junit, text::Text};
use smbd_conformance::suite::{Options, cases, play};

use super::choice::Choice;
use super::target::TargetArgs;
use super::{FAILED, PASSED, USAGE};

/// Plays cases and reports what the implementation under test does about each requirement.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    target: TargetArgs,
    /// Leave out what waits for timers of the implementation under test
    #[arg(long)]
    no_timers: bool,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write it to a file instead; the counts are printed in any case
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Findings, the matrix by section, counts
    Text,
    /// Everything, recordings included
    Json,
    /// JUnit XML
    Junit,
    /// One page for a browser: the matrix, findings with their bytes, every case with its messages drawn
    Html,
}

/// Plays and reports.
pub fn run(arguments: &RunArgs, catalogue: &Catalogue) -> ExitCode {
    let mut target = match arguments.target.target() {
        Ok(target) => target,
        Err(why) => {
            eprintln!("smbd-conformance: {why}");
            return ExitCode::from(USAGE);
        }
    };
    let chosen: Vec<_> = arguments.choice.cases(catalogue).collect();
    if chosen.is_empty() {
        eprintln!("smbd-conformance: no case is like that; `smbd-conformance list` has all");
        return ExitCode::from(USAGE);
    }
    let options = Options { timers: !arguments.no_timers };
    let bar = progress(chosen.len());
    let mut played = Vec::new();
    for case in chosen {
        bar.set_message(case.name.clone());
        if let Some(entry) = cases::find(&case.name) {
            for role in arguments.choice.sides(case) {
                for variant in 0..target.variants().len() {
                    played.push(play(&mut *target, variant, (case, entry), role, options));
                }
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = Report::new(target.name(), target.variants(), catalogue, played);
    match write(&report, arguments.format, arguments.output.as_deref()) {
        Ok(()) if report.passed() => ExitCode::from(PASSED),
        Ok(()) => ExitCode::from(FAILED),
        Err((name, error)) => {
            eprintln!("smbd-conformance: {name}: {error}");
            ExitCode::from(USAGE)
        }
    }
}

/// On standard error, and only if that is a terminal.
fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(cases).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("{pos:>4}/{len} {wide_msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn write(report: &Report, format: Format, to: Option<&Path>) -> Result<(), (String, io::Error)> {
    let Some(path) = to else {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = write_to(report, format, &mut out).and_then(|()| out.flush());
        return match written {
            // `smbd-conformance | head` has seen what it wanted.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| ("output".into(), error)),
        };
    };
    let named = |error| (path.display().to_string(), error);
    let mut out = BufWriter::new(File::create(path).map_err(named)?);
    write_to(report, format, &mut out).and_then(|()| out.flush()).map_err(named)?;
    print!("{}", report.totals);
    Ok(())
}

fn write_to(report: &Report, format: Format, out: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Text => write!(out, "{}", Text { report }),
        Format::Json => json::write(report, out),
        Format::Junit => junit::write(report, out),
        Format::Html => html::write(report, out),
    }
}
