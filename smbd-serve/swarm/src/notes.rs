//! What is noted of the client and the server.

use std::collections::BTreeMap;

use smbd_testkit::swarm::notes::{self, Counted, OfPair};

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

pub type Notes = notes::Notes<OfPair<OfSides>>;

impl Counted for OfSides {
    fn counts(&mut self) -> &mut BTreeMap<&'static str, u64> {
        &mut self.counts
    }
}
