use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use thiserror::Error;

use crate::ConfigError;

/// Why a line did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Finding {
    /// The backend broke it: what was found.
    #[error("{0}")]
    Broken(String),
    /// The backend or its fixture does not support what the line checks: the missing capability.
    #[error("not applicable: {0}")]
    NotApplicable(&'static str),
}

impl From<ConfigError> for Finding {
    fn from(error: ConfigError) -> Self {
        Self::Broken(alloc::format!("the kit's configuration: {error}"))
    }
}

/// The result of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its name.
    pub id: &'static str,
    /// The rule that it checks.
    pub about: &'static str,
    /// Source of the rule: the contract, a law, or a section of the specification.
    pub law: &'static str,
    /// Whether the backend keeps the rule.
    pub result: Result<(), Finding>,
}

/// The results of all lines. `Display` writes a table, with the findings of broken lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// One for each line, in the order of [`lines`](super::lines()).
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
