//! Standard output of commands that print and end.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

/// Exit status when standard output cannot be written.
const EXIT_UNWRITTEN: u8 = 2;

/// Writes `text` to standard output. A reader that closed the pipe has seen enough.
///
/// # Errors
/// The text for a person, if it cannot be written: a full disk, for example.
pub fn write(text: &str) -> Result<(), String> {
    told(write_to(&mut io::stdout(), text))
}

/// Prints `text`: what a command of `program` does and ends. Exit status: 0, or 2 with a line on standard error if the text cannot be
/// written.
#[must_use]
pub fn print(program: &str, text: &str) -> ExitCode {
    match write(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // That it cannot be written either changes nothing.
            let _ = writeln!(io::stderr(), "{program}: {why}");
            ExitCode::from(EXIT_UNWRITTEN)
        }
    }
}

/// The options of `program`. Wrong ones end it with 2.
///
/// # Errors
/// What was asked for is printed (`--help`, `--version`): the exit status, as of [`print()`].
pub fn options<T: Parser>(program: &str) -> Result<T, ExitCode> {
    T::try_parse().map_err(|error| {
        // Terminals have colours, and are never full.
        if error.use_stderr() || io::stdout().is_terminal() {
            error.exit();
        }
        print(program, &error.render().to_string())
    })
}

/// The option `--check` of `program`, after its settings were found valid: says so. Exit status as of [`print()`].
#[must_use]
pub fn checked(program: &str) -> ExitCode {
    print(program, &format!("{program}: options and configuration are valid\n"))
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
}
