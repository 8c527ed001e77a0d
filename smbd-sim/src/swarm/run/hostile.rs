//! A run against a scripted peer.

use crate::Side;
use crate::oracle::{Law, Oracles};
use crate::rawpeer::RawPeer;
use crate::swarm::kind::{self, FaultKind};
use crate::swarm::{Plan, Report};
use crate::trace::Trace;
use crate::upper::Carried;
use crate::watch::Counter;
use crate::watch::Watch;

/// Tells the script's chances from those that drew the plan.
const SALT: u64 = 0x7261_7770_6565_7200;

/// A connection on `side` against a script.
pub(super) fn run(plan: &Plan, side: Side, trace: Option<Trace>) -> Report {
    let oracles = Oracles::new(plan.configs.clone());
    let watch = Watch { oracles, counter: Counter::default(), trace, frames: () };
    let (config, machine) = (&plan.configs[side.index()], plan.seam.machines[side.index()]);
    let mut raw = RawPeer::new(plan.chance(SALT), side, machine, config, watch);
    raw.play();
    let mut faults = vec![0; kind::KINDS];
    faults[FaultKind::HostilePeer as usize] = 1;
    let watch = raw.into_watch();
    let verdicts = watch.oracles.verdicts();
    Report {
        seed: plan.seed,
        failure: verdicts.failure().cloned(),
        census: watch.counter.census(),
        carried: Carried::default(),
        faults,
        laws: Law::ALL.iter().map(|law| verdicts.count(*law)).collect(),
        delivered: false,
        hostile: true,
        connections: 1,
        steps: watch.counter.total(),
        digest: watch.trace.as_ref().map(Trace::digest),
        trace: watch.trace.as_ref().map(|t| t.text().to_owned()),
    }
}
