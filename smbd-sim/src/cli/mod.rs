//! Subcommands of `smbd-sim`.

pub mod decode;
pub mod examples;
mod names;
mod output;
pub mod peers;
pub mod run;
pub mod search;
pub mod soak;
