use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use thiserror::Error;

use crate::ConfigError;

/// Why a line did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Finding {
    /// The backend broke it.
    #[error("{0}")]
    Broken(String),
    /// The backend or its fixture cannot do what the line is about.
    #[error("not applicable: {0}")]
    NotApplicable(&'static str),
}

impl From<ConfigError> for Finding {
    fn from(error: ConfigError) -> Self {
        Self::Broken(alloc::format!("the kit's configuration: {error}"))
    }
}

/// What became of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its name.
    pub id: &'static str,
    /// What it says.
    pub about: &'static str,
    /// Where the contract, the laws or the specification say so.
    pub law: &'static str,
    /// How it went.
    pub result: Result<(), Finding>,
}

/// What became of all lines. Displayed as a table, the broken ones with what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// In the order of the lines.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether no line was broken.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.broken().next().is_none()
    }

    /// Lines that were broken.
    pub fn broken(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| matches!(outcome.result, Err(Finding::Broken(_))))
    }

    /// Lines that are not applicable.
    pub fn not_applicable(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| matches!(outcome.result, Err(Finding::NotApplicable(_))))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Outcome { id, about, law, result } in &self.outcomes {
            let mark = match result {
                Ok(()) => "ok    ",
                Err(Finding::Broken(_)) => "FAILED",
                Err(Finding::NotApplicable(_)) => "n/a   ",
            };
            writeln!(f, "{mark} {id:<38} {about} ({law})")?;
            if let Err(finding) = result {
                writeln!(f, "         {finding}")?;
            }
        }
        let (broken, skipped) = (self.broken().count(), self.not_applicable().count());
        let passed = self.outcomes.len().saturating_sub(broken).saturating_sub(skipped);
        write!(f, "kit: {passed} passed, {broken} failed, {skipped} not applicable")
    }
}
