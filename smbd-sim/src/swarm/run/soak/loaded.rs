//! A pair that works, is idle, loses its connection and makes a new one, in a loop.

use std::time::Duration;

use smbd_core::Config;

use super::{Soaked, Stock, stock};
use crate::nic::Personality;
use crate::oracle::Law;
use crate::probe::Probe;
use crate::swarm::run::Run;
use crate::swarm::{FaultLevel, Options, Plan, Profile};
use crate::{Rng, Side};

/// Tells the chances of the shifts from those that drew the plan.
const SALT: u64 = 0x736f_616b_0000_0000;
/// Longest pause between two shifts, in seconds.
const PAUSE: u64 = 900;
/// Tables are looked at after one part in so many of the time, and may be twice as large in the end, or as large as what can
/// be in use at the same time: the most that is, is a matter of chance, and what grows with time is beyond that soon.
const PART: u32 = 8;

/// A pair that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Decides parameters, loads and faults.
    pub seed: u64,
    /// Whose parameters.
    pub profile: Profile,
    /// Kind of network.
    pub personality: Personality,
    /// For how long; the shift that is under way then is finished.
    pub time: Duration,
}

/// Works in shifts on the same two hosts: random loads with RDMA and registrations, in every other shift with faults of all
/// kinds; then everything heals and is done, and the connection goes on, rests, or is replaced. `progress` is told the time.
pub fn loaded(what: &Loaded, progress: &dyn Fn(Duration)) -> Soaked {
    let options =
        Options { profile: what.profile, personality: Some(what.personality), faults: FaultLevel::None };
    let plan = Plan::of(what.seed, &options);
    let mut run = Run::new(&plan, None, ());
    // As on real hardware: otherwise the tables of the simulator remember every token there ever was.
    for side in Side::BOTH {
        run.world.host_mut(side).device.nic.tokens.reuse(true);
    }
    let began = Stock::of(&run);
    let mut rng = Rng::new(what.seed ^ SALT);
    let mut tables = None;
    let elapsed = |run: &Run<'_, ()>| run.world.now().saturating_since(smbd_core::Instant::ORIGIN);
    while run.shift(&mut rng) {
        let time = elapsed(&run);
        progress(time);
        if time >= what.time / PART {
            tables.get_or_insert_with(|| stock::tables(&run));
        }
        if time >= what.time || !run.between(&mut rng) {
            break;
        }
    }
    if !run.failed() {
        run.part();
    }
    let [before, after] = [tables.unwrap_or_default(), stock::tables(&run)];
    let most = (before * 2).max(in_use_at_most(&plan));
    run.check(Law::Leaks, tables.is_none() || after <= most, Side::Initiator, || {
        format!("tables of {before} places have {after} in the end, of which {most} are explained")
    });
    Soaked::of(&mut run, began, before)
}

/// Buffers and tokens that both hosts can have in use at the same time, when a peer that hangs holds everything up. A message has its
/// buffer until its completion comes, which is not asked for with unsignalled ones.
fn in_use_at_most(plan: &Plan) -> usize {
    let of = |config: &Config| {
        let [messages, sends, operations, registrations] =
            [config.message_slots, config.send_slots, config.rdma_ops, config.registrations].map(usize::from);
        messages + sends + operations + 2 * registrations
    };
    plan.configs.iter().map(of).sum()
}

impl<F: Probe> Run<'_, F> {
    /// Some work, with or without faults, until it is done. `false` if a law was broken.
    fn shift(&mut self, rng: &mut Rng) -> bool {
        let tasks = self.plan.more_tasks(rng);
        for side in Side::BOTH {
            self.world.host_mut(side).upper.refill(tasks.clone());
        }
        if self.world.connection(Side::Initiator).is_some() {
            self.world.command(Side::Initiator, |party, context| party.go_on(context));
        }
        let faults = if rng.chance(1, 2) { self.plan.more_faults(rng) } else { Vec::new() };
        self.round(&faults);
        !self.failed() && self.heal()
    }

    /// What happens between two shifts. `false` if a law was broken.
    fn between(&mut self, rng: &mut Rng) -> bool {
        if self.is_over() {
            return self.doom() && self.renew();
        }
        match rng.below(4) {
            0 => self.part() && self.renew(),
            1 => self.rest(),
            2 => {
                let pause = Duration::from_secs(rng.below(PAUSE));
                let until = self.world.now().saturating_add(pause);
                self.steps_until(until, Self::is_over);
                !self.failed()
            }
            _ => true,
        }
    }
}
