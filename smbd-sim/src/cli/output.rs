//! Standard output and exit status, common to all subcommands.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Exit code of a command line or a file that is no good, and of output that cannot be written.
pub const UNUSABLE: u8 = 2;

/// What a subcommand comes to.
pub type Outcome = Result<ExitCode, Trouble>;

/// Why a subcommand has no result.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Standard output cannot be written.
    #[error("output: {0}")]
    Output(#[from] io::Error),
    /// Anything else, as a sentence.
    #[error("{0}")]
    Said(String),
}

impl From<String> for Trouble {
    fn from(said: String) -> Self {
        Self::Said(said)
    }
}

/// Writes until whoever reads has gone, and drops what follows: `smbd-sim run ... | head` is no failure. The work goes on,
/// so the exit status is still the verdict.
#[derive(Debug)]
pub struct Output<W> {
    to: W,
    gone: bool,
}

impl Output<io::Stdout> {
    /// Standard output.
    pub fn standard() -> Self {
        Self::to(io::stdout())
    }
}

impl<W: Write> Output<W> {
    /// To something else.
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

/// The exit code of a subcommand. What kept it from a result is said on standard error.
pub fn conclude(outcome: Outcome, command: &str) -> ExitCode {
    outcome.unwrap_or_else(|trouble| {
        complain(command, &trouble);
        ExitCode::from(UNUSABLE)
    })
}

/// One line on standard error. If nobody reads that either, the exit code still tells.
pub fn complain(command: &str, what: &dyn Display) {
    _ = writeln!(io::stderr(), "{command}: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

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
