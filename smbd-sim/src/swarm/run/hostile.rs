//! A run against a scripted peer.

use crate::Side;
use crate::rawpeer::RawPeer;
use crate::swarm::{FaultKind, Plan, Report};
use crate::trace::Trace;
use crate::watch::Watch;

/// Tells the script's chances from those that drew the plan.
const SALT: u64 = 0x7261_7770_6565_7200;

/// A connection on `side` against a script.
pub(super) fn run(plan: &Plan, side: Side, trace: Option<Trace>) -> Report {
    let watch = Watch::new(plan.configs.clone(), trace, ());
    let (config, machine) = (&plan.configs[side.index()], plan.seam.machines[side.index()]);
    let mut raw = RawPeer::new(plan.chance(SALT), side, machine, config, watch);
    raw.play();
    let mut report = Report::of(plan, &raw.into_watch());
    report.faults[FaultKind::HostilePeer as usize] = 1;
    report
}
