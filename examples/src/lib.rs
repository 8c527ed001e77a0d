//! Ways to embed `smbd-core`, and what its tools are made of.
//!
//! The programs to read first are in `examples/examples/`: `minimal`, then `rdma`. The tools `smbd-ping`, `smbd-echo` and
//! `smbd-perf` (feature `verbs`) are in `examples/src/bin/`; [`exercise`] is what they say to each other, [`load`] the client of
//! `smbd-perf`, [`smb2`] what `smbd-ping` says to an SMB2 server. All run over any backend and are tested over the simulator.

pub mod exercise;
pub mod load;
pub mod smb2;
pub mod tool;

/// The run loop of README.md, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
