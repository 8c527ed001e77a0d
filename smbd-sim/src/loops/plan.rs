//! The choices of a run between two loops.

use std::time::Duration;

use super::load::Load;
use crate::swarm::{Arranged, FaultKind, FaultLevel, Loop, Options, Pair, Plan};
use crate::{Rng, Side};

/// Tells this stream of chance from those of the swarm: what they draw of a seed stays as it is.
const SALT: u64 = 0x6c6f_6f70_7300_0000;

/// Everything a run between two loops is made of.
#[derive(Clone, Debug)]
pub struct LoopPlan {
    /// Which loops.
    pub pair: Pair,
    /// What is sent.
    pub load: Load,
    /// An engine that is an initiator waits by itself, if the acceptor does not.
    pub engine_waits: bool,
    /// Configurations, devices, times, and the faults of the first round. Faults that need the swarm's workload do not happen.
    pub plan: Plan,
}

impl LoopPlan {
    /// The plan of a seed. With `driver`, one of the loops is that one.
    #[must_use]
    pub fn of(seed: u64, options: &Options, driver: Option<Loop>) -> Self {
        let mut plan = Plan::of(seed, options);
        // Both ends are loops.
        plan.hostile = None;
        let mut rng = Rng::new(seed ^ SALT);
        let load = Load::drawn(&mut rng);
        if options.faults == FaultLevel::Heavy && rng.chance(1, 3) {
            // At any time of the run: those of the round come early.
            let kind = rng.pick(&[FaultKind::LinkLost, FaultKind::LinkSilent, FaultKind::QueuePairBroken]);
            let (side, at) = (rng.pick(&Side::BOTH), rng.between(1, 4000));
            let cut = Arranged { kind, side, at, time: Duration::ZERO };
            plan.rounds.resize_with(plan.rounds.len().max(1), Vec::new);
            plan.rounds.iter_mut().take(1).for_each(|round| round.push(cut));
        }
        plan.rounds.truncate(1);
        let asked = |pair: &Pair| driver.is_none_or(|driver| pair.loops().contains(&driver));
        let pairs: Vec<_> = Pair::ALL.iter().copied().filter(asked).collect();
        let pair = rng.pick(&pairs);
        Self { pair, load, engine_waits: rng.chance(1, 2), plan }
    }

    /// Something may go wrong that ends a connection.
    pub(super) fn is_faulty(&self) -> bool {
        !self.plan.rounds.is_empty() || !self.plan.standing.is_empty()
    }

    /// The loop of a side.
    pub(super) const fn driver(&self, side: Side) -> Loop {
        self.pair.loops()[side.index()]
    }

    /// The side that waits by itself, if one does; all others are tasks.
    pub(super) fn waits(&self) -> Option<Side> {
        let blocking = Side::BOTH.into_iter().find(|side| self.driver(*side) == Loop::Blocking);
        let waits = self.driver(Side::Initiator) == Loop::Engine && self.engine_waits;
        blocking.or(waits.then_some(Side::Initiator))
    }
}
