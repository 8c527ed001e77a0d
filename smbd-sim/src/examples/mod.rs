//! The five examples of section 4, run between two cores.
//!
//! Every field that is shown is parsed from bytes on the simulated wire, and compared with the value that follows from
//! the options and the specification.

mod actor;
mod check;
mod draw;
mod options;
mod record;
mod scenes;
#[cfg(test)]
mod tests;

pub use options::Options;
use scenes::Stage;
use smbd_core::ConfigError;

use crate::probe::Probe;

/// What came of the examples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The sequences, with terminal colours.
    pub text: String,
    /// Examples in which every value was right.
    pub passed: u32,
    /// The others.
    pub failed: u32,
}

/// Runs all five; `probe` watches as well.
///
/// # Errors
/// The options make no valid configuration.
pub fn run<P: Probe>(options: &Options, probe: P) -> Result<(Report, P), ConfigError> {
    let mut stage = Stage::new(options, probe)?;
    stage.establish()?;
    stage.small();
    stage.fragmented();
    stage.write();
    stage.read();
    Ok(stage.finish())
}
