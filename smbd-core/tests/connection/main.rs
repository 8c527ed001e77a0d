//! `Connection` from outside: every rule with the peer that keeps it and the peer that breaks it.

#[path = "../pair/mod.rs"]
mod pair;

mod examples;
mod negotiate;
mod peers;
