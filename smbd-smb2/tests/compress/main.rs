//! Compressed messages, and the algorithms.

mod bombs;
mod examples;
mod faults;
mod messages;
mod round_trip;
mod vectors;
