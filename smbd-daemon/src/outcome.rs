//! How a program ends.

use std::fmt;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use smbd_program::output;

use crate::trouble::Trouble;

/// What a program has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It looked at its settings only, which are valid.
    Checked,
    /// It served until a signal came.
    Served,
}

/// Why it has not.
#[derive(Debug)]
pub enum Failure {
    /// It was called in a way that makes no sense, or its configuration makes none: a text for whoever wrote it.
    Usage(String),
    /// It cannot go on.
    Trouble(Trouble),
}

impl<T: Into<Trouble>> From<T> for Failure {
    fn from(trouble: T) -> Self {
        Self::Trouble(trouble.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(wrong) => f.write_str(wrong),
            Self::Trouble(trouble) => write!(f, "{trouble}"),
        }
    }
}

/// Says what became of `program`, whose command line is `O`, and is its exit status: 0, 1 if it cannot go on; 2 for wrong usage, with which
/// it ends here.
#[must_use]
pub fn conclude<O: CommandFactory>(program: &str, outcome: Result<Done, Failure>) -> ExitCode {
    match outcome {
        Ok(Done::Checked) => output::checked(program),
        Ok(Done::Served) => ExitCode::SUCCESS,
        Err(Failure::Usage(wrong)) => O::command().error(ErrorKind::ValueValidation, wrong).exit(),
        Err(Failure::Trouble(trouble)) => trouble.failure(program),
    }
}
