//! Subcommands of `smbd-sim`.

pub mod decode;
