//! What the command lines of the tools have in common.

mod parameters;
mod target;
mod words;

pub use parameters::{Parameters, Profile, seconds};
pub use target::{Target, TargetError};
pub use words::{advice_on_close, advice_on_connect};

/// Exit status: the peer did not do what it should.
pub const EXIT_PEER: u8 = 1;
/// Exit status: wrong usage.
pub const EXIT_USAGE: u8 = 2;
