//! Standard output.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::outlive_file_size;
use crate::pages::{Pages, Section, extended};

/// Exit status when standard output cannot be written.
const EXIT_UNWRITTEN: u8 = 2;

/// Writes `text` to standard output. A reader that closed the pipe has seen enough.
///
/// # Errors
/// The text for a person, if it cannot be written: a full disk, for example.
pub fn write(text: &str) -> Result<(), String> {
    told(write_to(&mut io::stdout(), text))
}

/// Prints `text`: what a command of `program` does and ends. Exit status: 0, or as of [`conclude`].
#[must_use]
pub fn print(program: &str, text: &str) -> ExitCode {
    conclude(program, write(text).map(|()| ExitCode::SUCCESS))
}

/// The exit status of a command of `program`: 2 with a line on standard error if standard output could not be written.
#[must_use]
pub fn conclude(program: &str, outcome: Result<ExitCode, String>) -> ExitCode {
    outcome.unwrap_or_else(|why| {
        complain(program, &why);
        ExitCode::from(EXIT_UNWRITTEN)
    })
}

/// Writes a line to standard error, behind the name of the program. Drops it if it cannot be written: the exit status still tells.
pub fn complain(program: &str, what: &dyn Display) {
    let _ = writeln!(io::stderr(), "{program}: {what}");
}

/// The options of `program`, whose files may be longer than RLIMIT_FSIZE from now on without its end ([`outlive_file_size`]). Wrong ones
/// end it with 2. The subcommands `completions` and `manual` are there beside those of the program ([`pages`](crate::pages)).
///
/// # Errors
/// What was asked for is printed (`--help`, `--version`, completions, the manual): the exit status, as of [`print()`].
pub fn options<T: Parser>(program: &str) -> Result<T, ExitCode> {
    options_in(program, Section::Commands)
}

/// The same for a program whose manual belongs to another section.
///
/// # Errors
/// As [`options`].
pub fn options_in<T: Parser>(program: &str, section: Section) -> Result<T, ExitCode> {
    outlive_file_size().map_err(|error| conclude(program, Err(format!("SIGXFSZ: {error}"))))?;
    let mut command = extended(T::command());
    let parsed =
        command.try_get_matches_from_mut(std::env::args_os()).and_then(|mut matches| {
            match Pages::of(&matches) {
                Some(pages) => Ok(Err(pages)),
                None => T::from_arg_matches_mut(&mut matches).map(Ok),
            }
        });
    match parsed.map_err(|error| error.format(&mut command)) {
        Ok(Ok(options)) => Ok(options),
        Ok(Err(pages)) => {
            let text = pages.text(program, section, command);
            let written = text.and_then(|text| write(&String::from_utf8_lossy(&text)));
            Err(conclude(program, written.map(|()| ExitCode::SUCCESS)))
        }
        // Terminals have colours, and are never full.
        Err(error) if error.use_stderr() || io::stdout().is_terminal() => error.exit(),
        Err(error) => Err(print(program, &error.render().to_string())),
    }
}

/// The option `--check` of `program`, after its settings were found valid: says so. Exit status as of [`print()`].
#[must_use]
pub fn checked(program: &str) -> ExitCode {
    print(program, &format!("{program}: options and configuration are valid\n"))
}

/// A writer that drops everything after the reader has closed the pipe: `smbd-ping ADDR | head` is not a failure, and
/// the exit status is still the result. Every other error, such as a full disk, is returned.
#[derive(Debug)]
pub struct Output<W> {
    to: W,
    gone: bool,
}

impl Output<io::Stdout> {
    /// Standard output.
    #[must_use]
    pub fn standard() -> Self {
        Self::to(io::stdout())
    }
}

impl<W: Write> Output<W> {
    /// Another writer.
    pub const fn to(to: W) -> Self {
        Self { to, gone: false }
    }

    /// `done` is what a write would return if nobody reads any more.
    fn unless_gone<T>(&mut self, done: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.gone {
            return Ok(done);
        }
        match write(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(done)
            }
            written => written,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_gone(bytes.len(), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_gone((), Write::flush)
    }
}

fn write_to(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn told(written: io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| format!("standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_and_a_closed_pipe_is_not() {
        assert_eq!(told(Err(ErrorKind::BrokenPipe.into())), Ok(()));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let why = told(write_to(&mut full.expect("Linux has it"), "x")).expect_err("it is full");
        assert!(why.starts_with("standard output: No space left on device"), "{why}");
    }
    /// Takes so many writes, then fails.
    struct Failing(usize, ErrorKind);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(self.1)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            if self.0 == 0 { Err(self.1.into()) } else { Ok(()) }
        }
    }

    #[test]
    fn a_reader_who_has_gone_is_no_error_and_a_full_disk_is_one() {
        let mut gone = Output::to(Failing(1, ErrorKind::BrokenPipe));
        for _ in 0..3 {
            gone.write_all(b"line\n").expect("nobody reads it");
            gone.flush().expect("nobody reads it");
        }
        let mut full = Output::to(Failing(1, ErrorKind::StorageFull));
        full.write_all(b"line\n").expect("there is room");
        assert_eq!(full.write_all(b"line\n").map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
        assert_eq!(full.flush().map_err(|error| error.kind()), Err(ErrorKind::StorageFull));
    }
}
