//! The result of a run.

use crate::oracle::Failure;
use crate::upper::Carried;
use crate::watch::Census;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The law that was broken.
    pub failure: Option<Failure>,
    /// Counts.
    pub census: Census,
    /// What was carried.
    pub carried: Carried,
    /// Faults that happened, by kind.
    pub faults: Vec<u64>,
    /// How often each law was looked at.
    pub laws: Vec<u64>,
    /// Every byte was delivered after everything had healed.
    pub delivered: bool,
    /// The peer was a script.
    pub hostile: bool,
    /// Connections made.
    pub connections: u32,
    /// Inputs, actions and events.
    pub steps: u64,
    /// Digest of the trace, if there was one.
    pub digest: Option<u64>,
    /// Its text, if it was kept.
    pub trace: Option<String>,
}
