//! What is noted of the client and the server.

use std::collections::BTreeMap;

use crate::common;

/// What came of both sides so far.
#[derive(Debug, Default)]
pub struct OfSides {
    /// Why the client's connection was over.
    pub client_ended: Option<String>,
    /// Why the server's connection was over.
    pub server_ended: Option<String>,
    /// Somebody has changed a message.
    pub changes: u64,
    /// What was done, by name.
    pub counts: BTreeMap<&'static str, u64>,
}

pub type Notes = common::Notes<OfSides>;

impl Notes {
    pub fn count(&self, name: &'static str) {
        self.add(name, 1);
    }

    pub fn add(&self, name: &'static str, count: u64) {
        self.note(|seen| *seen.own.counts.entry(name).or_default() += count);
    }
}
