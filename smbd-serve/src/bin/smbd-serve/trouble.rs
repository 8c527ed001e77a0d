//! Why the program ends with another exit status than 0.

use std::fmt::Display;

/// Why the program ends with another exit status than 0.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What it was called with cannot be done.
    Usage(String),
    Failed(String),
}

impl Trouble {
    pub(crate) fn failed(what: impl Display, why: impl Display) -> Self {
        Self::Failed(format!("{what}: {why}"))
    }
}
