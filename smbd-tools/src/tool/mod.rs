//! The common part of the command lines of the tools.

mod output;
mod parameters;
mod target;
mod words;

pub use output::complain;
pub use parameters::{Parameters, Profile, seconds};
pub use target::{Target, TargetError};
pub use words::{ADVICE_ON_DEVICE, advice_on_close, advice_on_connect};

/// Exit status 1: the peer did not do what it should.
pub const EXIT_PEER: u8 = 1;
/// Exit status 2: wrong usage, or standard output cannot be written.
pub const EXIT_USAGE: u8 = 2;
