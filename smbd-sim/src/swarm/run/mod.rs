//! One run: rounds under faults, then a part without faults, in which all work has to finish.

mod healed;
mod hostile;
mod look;
mod renewal;
pub mod soak;
mod strike;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::PhaseName;

use super::fault::{Arranged, Schedule};
use super::{Plan, Report};
use crate::Side;
use crate::oracle::Law;
use crate::probe::Probe;
use crate::trace::Trace;
use crate::upper::{Client, Server, Workload, WorkloadUpper};
use crate::watch::Watch;
use crate::world::World;

/// More steps than any run takes.
const STEPS_MAX: u64 = 4_000_000;
/// Virtual time after which a connection that is doomed must have found out.
const DOOM: Duration = Duration::from_secs(1200);

type RunWorld<F> = World<WorkloadUpper, Schedule, Watch<F>>;

/// A run as it goes on.
struct Run<'a, F> {
    plan: &'a Plan,
    world: RunWorld<F>,
    workload: Rc<RefCell<Workload>>,
    connections: u32,
    /// After steps.
    looks: u64,
    /// Breaches that were looked at.
    breaches: [[u64; 2]; 2],
    /// The upper layer of this side had a token invalidated that is none.
    nonsense: [bool; 2],
}

/// Runs a plan to its end.
#[must_use]
pub fn run(plan: &Plan, trace: Option<Trace>) -> Report {
    run_showing(plan, trace, ()).0
}

/// Runs a plan to its end, with `frames` shown every frame; of a hostile run there are none
/// ([`Plan::hostile`](super::Plan::hostile)).
#[must_use]
pub fn run_showing<F: Probe>(plan: &Plan, trace: Option<Trace>, frames: F) -> (Report, F) {
    if let Some(side) = plan.hostile {
        return (hostile::run(plan, side.peer(), trace), frames);
    }
    let mut run = Run::new(plan, trace, frames);
    let delivered = run.all();
    run.report(delivered)
}

impl<'a, F: Probe> Run<'a, F> {
    fn new(plan: &'a Plan, trace: Option<Trace>, frames: F) -> Self {
        let workload = Rc::new(RefCell::new(Workload::default()));
        let [client, server] = plan.behaviour;
        let client = Client::new(plan.tasks.clone(), plan.window, client, Rc::clone(&workload));
        let server = Server::new(plan.tasks.clone(), server, Rc::clone(&workload));
        let hosts = [
            plan.host(Side::Initiator, WorkloadUpper::Client(client)),
            plan.host(Side::Acceptor, WorkloadUpper::Server(server)),
        ];
        let watch = Watch::new(plan.configs.clone(), trace, frames);
        let mut world = World::new(&plan.world(), hosts, plan.schedule(), watch);
        *world.rng_mut() = plan.chance(0);
        for side in Side::BOTH {
            world.host_mut(side).machine = plan.seam.machines[side.index()];
        }
        let (breaches, nonsense) = ([[0; 2]; 2], [false; 2]);
        Self { plan, world, workload, connections: 1, looks: 0, breaches, nonsense }
    }

    fn failed(&self) -> bool {
        self.world.probe().oracles.verdicts().failure().is_some()
    }

    /// Everything. `true` if all was delivered.
    fn all(&mut self) -> bool {
        for (number, faults) in self.plan.rounds.iter().enumerate() {
            if number > 0 && !self.renew() {
                return false;
            }
            self.round(faults);
            if self.failed() || self.is_done() {
                break;
            }
            // A connection that is alive is healed; the next round begins with a new one.
            if number + 1 < self.plan.rounds.len() && !self.doom() {
                return false;
            }
        }
        !self.failed() && self.heal() && self.rest() && self.part()
    }

    fn is_done(&self) -> bool {
        Side::BOTH.iter().all(|side| self.world.host(*side).upper.is_done())
    }

    /// Until the connection is over, the work is done, or nothing happens any more.
    fn round(&mut self, faults: &[Arranged]) {
        self.world.faults_mut().arrange(faults);
        let begin = self.world.steps();
        let until = self.world.now().saturating_add(DOOM);
        while !self.is_done() && !self.world.is_drained() && self.world.now() < until {
            let steps = self.world.steps() - begin;
            while let Some(fault) = self.world.faults_mut().due(steps) {
                self.strike(fault);
            }
            if steps > STEPS_MAX || !self.step() {
                break;
            }
        }
    }

    fn steps_until(&mut self, until: smbd_core::Instant, done: impl Fn(&Self) -> bool) -> bool {
        let begin = self.world.steps();
        loop {
            if done(self) {
                return true;
            }
            if self.world.steps() - begin > STEPS_MAX || !self.step_by(until) {
                return false;
            }
        }
    }

    /// A connection that is there has come to its end.
    fn is_over(&self) -> bool {
        Side::BOTH.iter().any(|side| {
            self.world
                .connection(*side)
                .is_some_and(|c| matches!(c.phase(), PhaseName::Closing | PhaseName::Drained))
        })
    }

    fn report(mut self, delivered: bool) -> (Report, F) {
        let carried = self.workload.borrow().carried;
        let faults = self.world.faults_mut().counts().to_vec();
        let mut watch = self.world.into_probe();
        // The devices have looked at these themselves, at every turn.
        let of_devices = [Law::Device, Law::Driven, Law::Reported, Law::LinkReported];
        watch.oracles.verdicts_mut().hold(of_devices, 2 * self.looks);
        let connections = self.connections;
        let mut report = Report { carried, faults, delivered, connections, ..Report::of(self.plan, &watch) };
        report.laws[Law::Delivery as usize] += carried.compared[0];
        report.laws[Law::Content as usize] += carried.compared[1];
        (report, watch.frames)
    }
}
