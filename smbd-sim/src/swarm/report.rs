//! The result of a run.

use super::kind::KINDS;
use super::{Pair, Plan};
use crate::oracle::{Failure, Law};
use crate::trace::Trace;
use crate::upper::Carried;
use crate::watch::{Census, Watch};

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
    /// Every byte was delivered after everything had healed; between loops: every message came back.
    pub delivered: bool,
    /// The peer was a script.
    pub hostile: bool,
    /// The loops of `smbd_link` that drove both ends, if they did.
    pub pair: Option<Pair>,
    /// Connections made.
    pub connections: u32,
    /// Inputs, actions and events.
    pub steps: u64,
    /// Digest of the trace, if there was one.
    pub digest: Option<u64>,
    /// Its text, if it was kept.
    pub trace: Option<String>,
}

impl Report {
    /// Of a run of one connection that carried nothing, as far as its watchers tell.
    pub(crate) fn of<F>(plan: &Plan, watch: &Watch<F>) -> Self {
        let verdicts = watch.oracles.verdicts();
        Self {
            seed: plan.seed,
            failure: verdicts.failure().cloned(),
            census: watch.counter.census(),
            carried: Carried::default(),
            faults: vec![0; KINDS],
            laws: Law::ALL.iter().map(|law| verdicts.count(*law)).collect(),
            delivered: false,
            hostile: plan.hostile.is_some(),
            pair: None,
            connections: 1,
            steps: watch.counter.total(),
            digest: watch.trace.as_ref().map(Trace::digest),
            trace: watch.trace.as_ref().map(|trace| trace.text().to_owned()),
        }
    }
}
