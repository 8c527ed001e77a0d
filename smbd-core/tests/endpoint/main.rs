//! The endpoint against a peer played by hand: whole messages from any fragments, copies, memory, payload given back.
#![cfg(feature = "endpoint")]
#![expect(clippy::wildcard_enum_match_arm, reason = "tests pick the events they are about")]

mod pause;
mod peer;
mod receive;
mod send;
