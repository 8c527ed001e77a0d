//! Where a report goes, also that of a run which does not come to its end.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use smbd_conformance::suite::report::{Report, html, json, junit, text::Text};

use super::USAGE;

/// What a report looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Findings, the matrix by section, counts
    Text,
    /// Everything, recordings included
    Json,
    /// JUnit XML
    Junit,
    /// One page for a browser: the matrix, findings with their bytes, every case with its messages drawn
    Html,
}

/// A report that could not be written: which file, and why.
pub type Failed = (String, io::Error);

/// Between two reports of a run that goes on at least.
const INTERVAL: Duration = Duration::from_secs(1);
/// The part of the time that writing them may take: one of so many.
const SHARE: u32 = 10;

/// Writes to standard output, all at once or until whoever reads has gone: `smbd-conformance ... | head` has seen what it
/// wanted.
///
/// # Errors
/// It cannot be written.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failed> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| ("output".into(), error)),
    }
}

/// One line on standard error.
pub fn complain(what: &dyn Display) {
    // If nobody reads that either, the exit code still tells.
    _ = writeln!(io::stderr(), "smbd-conformance: {what}");
}

/// The exit code of what could not be written.
pub fn unwritten((name, error): &Failed) -> ExitCode {
    complain(&format_args!("{name}: {error}"));
    ExitCode::from(USAGE)
}

/// A file or standard output.
#[derive(Debug)]
pub struct Output {
    format: Format,
    file: Option<PathBuf>,
    /// Keeps the time.
    watch: ProgressBar,
    /// When the file is due to be written again, since the beginning.
    due: Duration,
}

impl Output {
    /// A report in this format, to this file if to one (`-`: standard output).
    ///
    /// # Errors
    /// The file cannot be written: better known before the run than behind it.
    pub fn new(format: Format, file: Option<PathBuf>) -> Result<Self, Failed> {
        let file = file.filter(|path| path != Path::new("-"));
        if let Some(path) = &file {
            check(path).map_err(|error| (format!("--output {}", path.display()), error))?;
        }
        Ok(Self { format, file, watch: ProgressBar::hidden(), due: Duration::ZERO })
    }

    /// Writes what is known while the run goes on, if to a file and if it is time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, report: impl FnOnce() -> Report) -> Result<(), Failed> {
        let began = self.watch.elapsed();
        let Some(path) = self.file.as_ref().filter(|path| is_replaceable(path)) else { return Ok(()) };
        if began < self.due {
            return Ok(());
        }
        self.replace(path, &report())?;
        let now = self.watch.elapsed();
        self.due = now + now.saturating_sub(began).saturating_mul(SHARE).max(INTERVAL);
        Ok(())
    }

    /// Writes the last report; the counts go to standard output in any case.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self, report: &Report) -> Result<(), Failed> {
        let Some(path) = &self.file else { return print(|out| self.write(report, out)) };
        if is_replaceable(path) {
            self.replace(path, report)?;
        } else {
            self.write_file(path, report)?;
        }
        print(|out| write!(out, "{}", report.totals))
    }

    /// The file has the old report or the new one, whenever the program is killed.
    fn replace(&self, path: &Path, report: &Report) -> Result<(), Failed> {
        let part = part_of(path);
        self.write_file(&part, report)?;
        fs::rename(&part, path).map_err(|error| (path.display().to_string(), error))
    }

    fn write_file(&self, path: &Path, report: &Report) -> Result<(), Failed> {
        let named = |error| (path.display().to_string(), error);
        let mut out = BufWriter::new(File::create(path).map_err(named)?);
        self.write(report, &mut out).and_then(|()| out.flush()).map_err(named)
    }

    fn write(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Text => write!(out, "{}", Text { report }),
            Format::Json => json::write(report, out),
            Format::Junit => junit::write(report, out),
            Format::Html => html::write(report, out),
        }
    }
}

/// Whether a report can be written there.
fn check(path: &Path) -> io::Result<()> {
    let is_there = fs::metadata(path);
    if is_there.as_ref().is_ok_and(fs::Metadata::is_dir) {
        return Err(ErrorKind::IsADirectory.into());
    }
    if is_replaceable(path) {
        let part = part_of(path);
        return File::create(&part).and_then(|_| fs::remove_file(part));
    }
    // Whoever opens a pipe waits for its reader.
    if is_there.is_ok_and(|known| known.is_file() || known.file_type().is_char_device()) {
        File::options().append(true).open(path)?;
    }
    Ok(())
}

/// What becomes the file when it is whole.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// A device, a pipe or a link is written to and not replaced.
fn is_replaceable(path: &Path) -> bool {
    fs::symlink_metadata(path).map_or(true, |known| known.is_file())
}
