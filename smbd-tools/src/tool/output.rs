//! Standard output of a tool.

use std::io::{self, ErrorKind, Write};

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

/// Writes `what` to standard error, and a second line with `advice` if there is one. Drops them if they cannot be
/// written.
pub fn complain(what: &str, advice: Option<&str>) {
    let advice = advice.map_or_else(String::new, |advice| format!("  check: {advice}\n"));
    _ = io::stderr().write_all(format!("{what}\n{advice}").as_bytes());
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
