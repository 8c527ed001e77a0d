//! What subcommands come to.

use std::io;
use std::process::ExitCode;

use smbd_program::output::complain;

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

/// The exit code of a subcommand. What kept it from a result is said on standard error.
pub fn conclude(outcome: Outcome, command: &str) -> ExitCode {
    outcome.unwrap_or_else(|trouble| {
        complain(command, &trouble);
        ExitCode::from(UNUSABLE)
    })
}
