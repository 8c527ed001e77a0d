//! What is noted of a run.

use std::collections::BTreeMap;

use smbd_testkit::swarm::notes::{self, Counted};

use crate::clock::Clock;

/// The notes of a run; clones are the same.
pub type Notes = notes::Notes<OfBroker, Clock>;

/// What came of it so far.
#[derive(Debug, Default)]
pub struct OfBroker {
    pub counts: BTreeMap<&'static str, u64>,
    /// Clients that have done all that they wanted.
    pub done: usize,
    /// Clients that have not, and who were served by somebody who does what he must not, or do so themselves.
    pub excused: usize,
    /// Something has happened that ends connections, or stops owners.
    pub is_disturbed: bool,
}

impl Counted for OfBroker {
    fn counts(&mut self) -> &mut BTreeMap<&'static str, u64> {
        &mut self.counts
    }
}
