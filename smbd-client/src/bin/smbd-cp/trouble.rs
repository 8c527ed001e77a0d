//! Why the program ends with another exit status than 0.

use std::fmt::Display;

use smbd_program::password::Untyped;

use crate::password::NoPassword;

/// Numbers of signals.
pub(crate) const SIGINT: u8 = 2;
pub(crate) const SIGTERM: u8 = 15;

/// Why the program ends with another exit status than 0.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// What it was called with cannot be done.
    Usage(String),
    Failed(String),
    /// Some files failed, and each was told.
    Files,
    /// By a signal, of this number.
    Interrupted(u8),
}

impl Trouble {
    pub(crate) fn failed(why: impl Display) -> Self {
        Self::Failed(why.to_string())
    }
}

impl From<NoPassword> for Trouble {
    fn from(none: NoPassword) -> Self {
        match none {
            NoPassword::Untyped(Untyped::Cancelled) => Self::Interrupted(SIGINT),
            other => Self::failed(other),
        }
    }
}
