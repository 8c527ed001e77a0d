//! The loops of `smbd_link` over simulated devices, in virtual time, under the faults of the swarm and with the oracles
//! watching: calls that wait, engines and async calls, each with each.
//!
//! Configurations, devices, times and faults are those of a swarm's seed. In half of the runs an initiator registers a buffer, which
//! the acceptor reads and writes by RDMA. Then it sends messages and gets them back; what comes is a beginning of what was sent, each
//! run ends, and without faults all comes.

mod blocks;
mod end;
mod engines;
mod flag;
mod futures;
mod handlers;
mod hub;
mod load;
mod machine;
mod notes;
mod plan;
mod poller;
mod stage;
mod transfer;
mod verdict;
mod watch;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

pub use end::LoopEnd;
pub use load::Load;
pub use notes::Stuck;
pub use plan::LoopPlan;
pub use stage::{Block, Stage, Timer};

use crate::Side;
use crate::probe::Probe;
use crate::swarm::{Loop, Options, Report, Summary, over_seeds};
use crate::trace::Trace;
use crate::watch::Watch;
use hub::Hub;
use notes::Notes;
use watch::{Deadlines, Frames};

/// Longer than a connection may take to end.
const LONG: Duration = Duration::from_secs(600);

/// Runs a plan to its end.
#[must_use]
pub fn run(plan: &LoopPlan, trace: Option<Trace>) -> Report {
    run_showing(plan, trace, ()).0
}

/// Runs a plan to its end, with `frames` shown every frame.
#[must_use]
pub fn run_showing<F: Probe + 'static>(plan: &LoopPlan, trace: Option<Trace>, frames: F) -> (Report, F) {
    let frames = Rc::new(RefCell::new(frames));
    let shared: Rc<RefCell<dyn Probe>> = frames.clone();
    let watch = Watch::new(plan.plan.configs.clone(), trace, Frames(shared));
    let hub = Hub::new(&plan.plan, (watch, Deadlines::default()));
    let notes = Notes::default();
    for side in [Side::Acceptor, Side::Initiator] {
        if Some(side) != plan.waits() {
            start(&hub, plan, side, &notes);
        }
    }
    if let Some(side) = plan.waits() {
        wait(&hub, plan, side, &notes);
    }
    while hub.tasks() > 0 && hub.turn() {}
    verdict::judge(&hub, plan, &notes.borrow());
    let report = verdict::report(&hub, plan, &notes.borrow());
    // Tasks know the hub, and the hub knows them.
    hub.clear();
    drop(hub);
    match Rc::try_unwrap(frames) {
        Ok(frames) => (report, frames.into_inner()),
        Err(_) => unreachable!("the hub is gone, and nobody else has them"),
    }
}

/// Runs all seeds; `done` hears how many more are done. With `driver`, one of the loops is that one; without, the seed decides.
/// The number of threads cannot be seen in the result.
pub fn run_seeds(
    seeds: Range<u64>,
    options: &Options,
    driver: Option<Loop>,
    done: &(dyn Fn(u64) + Sync),
) -> Summary {
    let take = |seed: u64, summary: &mut Summary| {
        summary.take(&run(&LoopPlan::of(seed, options, driver), None));
    };
    over_seeds(seeds, None, &take, Summary::merge, done)
}

/// A side that is a task.
fn start(hub: &Rc<Hub>, plan: &LoopPlan, side: Side, notes: &Notes) {
    match (plan.driver(side), side) {
        (Loop::Engine, Side::Initiator) => engines::start(hub, side, engines::asker(hub, plan, notes), notes),
        (Loop::Engine, Side::Acceptor) => engines::start(hub, side, engines::echo(hub, plan), notes),
        (Loop::Tokio | Loop::Blocking, Side::Initiator) => futures::ask(hub, plan, notes),
        (Loop::Tokio | Loop::Blocking, Side::Acceptor) => futures::answer(hub, plan, notes),
    }
}

/// The side that waits in its calls, and lets the other one have its turns meanwhile.
fn wait(hub: &Rc<Hub>, plan: &LoopPlan, side: Side, notes: &Notes) {
    match (plan.driver(side), side) {
        (Loop::Blocking, Side::Initiator) => blocks::ask(hub, plan, notes),
        (Loop::Blocking, Side::Acceptor) => blocks::answer(hub, plan, notes),
        _ => engines::wait(hub, engines::asker(hub, plan, notes), notes),
    }
}
