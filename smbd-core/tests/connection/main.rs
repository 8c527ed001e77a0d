//! `Connection` from outside: every rule with the peer that keeps it and the peer that breaks it.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test picks what it looks for")]

#[path = "../pair/mod.rs"]
mod pair;

mod closing;
mod closing_cause;
mod credits;
mod drained;
mod examples;
mod fingerprint;
mod ledger;
mod limits;
mod negotiate;
mod peers;
mod phases;
mod random;
mod rdma;
mod receive;
mod registration;
mod run;
mod send;
mod timers;
