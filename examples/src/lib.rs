//! Ways to embed `smbd-core`. The programs are in `examples/examples/`: `minimal` first.

/// The run loop of README.md, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
