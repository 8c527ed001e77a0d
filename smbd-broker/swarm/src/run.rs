//! A run: all of it, from its seed.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::loops::Stage;
use smbd_sim::oracle::{Failure, Law};
use smbd_sim::swarm;
use smbd_sim::{Rng, Side};

use crate::clock::Clock;
use crate::host::Host;
use crate::notes::Notes;
use crate::owner::Shared;
use crate::plan::Plan;
use crate::socket::Sockets;
use crate::{arrivals, place, turns};
use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

/// Longer than any run takes, in virtual time.
const LONGEST: Duration = Duration::from_secs(36_000);
/// More turns than any run takes.
const TOO_LONG: u32 = 600_000;

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub breach: Option<Breach>,
    pub counts: Vec<(&'static str, u64)>,
    pub faults: Vec<u64>,
    /// Clients that have done all.
    pub done: usize,
    pub clients: usize,
    pub is_gentle: bool,
    /// Its steps, and the traces of its devices.
    pub text: String,
    pub turns: u32,
}

/// Runs a seed.
pub fn run(seed: u64, is_shown: bool) -> Report {
    run_plan(Plan::of(seed), is_shown)
}

/// Runs a plan.
pub fn run_plan(plan: Plan, is_shown: bool) -> Report {
    place::clear();
    let mut chance = Chance::new(plan.seed ^ 0x7275_6e00);
    let clock = Clock::new();
    let notes = Notes::new(&clock, is_shown);
    let sockets = Sockets::new(&clock, plan.sockets, chance.bits());
    let host = Host::new(&clock, &sockets, plan.scarcity, Chance::new(chance.bits()));
    let shared = Shared::new(&plan, &notes, &sockets, &host, Chance::new(chance.bits()));
    let idle =
        swarm::Plan::of(0, &swarm::Options { faults: swarm::FaultLevel::None, ..swarm::Options::default() });
    let home = Stage::new(&idle, None, Rng::new(chance.bits()));
    place::add(home.clone());
    shared.clients.set(plan.clients.len());
    home.spawn(arrivals::lives(Rc::clone(&shared)));
    for owner in &plan.owners {
        home.spawn(arrivals::owner(Rc::clone(&shared), owner.clone()));
    }
    for client in &plan.clients {
        home.spawn(arrivals::client(Rc::clone(&shared), client.clone(), is_shown));
    }
    let turns = play(&shared, &mut chance);
    let report = judge(&shared, turns);
    place::clear();
    report
}

/// Plays to the end. How many turns it took.
fn play(shared: &Rc<Shared>, chance: &mut Chance) -> u32 {
    let notes = &shared.notes;
    let longest = Instant::ORIGIN.saturating_add(LONGEST);
    let mut turns = 0;
    while tasks() > 0 && notes.seen().breach.is_none() && turns < TOO_LONG && notes.now() < longest {
        turns += 1;
        if !turns::turn(notes.clock(), chance) {
            break;
        }
        for said in shared.host.said() {
            notes.step(|| format!("broker: {said}"));
        }
        notes.judge(look(shared));
    }
    turns
}

fn tasks() -> usize {
    (0..place::stages()).filter_map(place::stage).map(|stage| stage.tasks()).sum()
}

/// The laws of each turn.
fn look(shared: &Shared) -> Result<(), Breach> {
    if let Some(breach) = place::breach() {
        return Err(breach);
    }
    let settings = &shared.plan.settings;
    let bytes = place::slots() as u64 * u64::from(settings.limits.slot_len);
    law!(
        "quota",
        bytes <= settings.quotas.memory_max,
        "{bytes} bytes of slots, {} may be",
        settings.quotas.memory_max
    );
    for number in 1..place::stages() {
        let Some(stage) = place::stage(number) else { continue };
        let open = stage.open_and_unused(Side::Acceptor);
        law!(
            "access",
            open == 0,
            "connection {number}: {open} pieces of memory are open, and no transfer uses them"
        );
        if let Some(failure) = stage.failure()
            && !is_excused(shared, number, &failure)
        {
            return Err(format!("{failure} (connection {number})"));
        }
    }
    Ok(())
}

/// Whether a law of the devices was broken by somebody who names other memory than his own.
fn is_excused(shared: &Shared, number: usize, failure: &Failure) -> bool {
    let is_of_mischief = matches!(failure.law, Law::Device | Law::Tokens);
    // What a process has that was killed is its system's.
    let is_of_system = failure.law == Law::Leaks && place::is_killed(number);
    is_of_system || (is_of_mischief && shared.ledger.borrow().is_hostile(number))
}

fn judge(shared: &Rc<Shared>, turns: u32) -> Report {
    let notes = &shared.notes;
    if notes.seen().breach.is_none() {
        notes.judge(of_end(shared));
    }
    let stages: Vec<Stage> = (0..place::stages()).filter_map(place::stage).collect();
    place::set_dying(true);
    stages.iter().for_each(Stage::clear);
    drop(shared.broker.borrow_mut().take());
    place::set_dying(false);
    for (number, stage) in stages.iter().enumerate() {
        let is_whole = notes.seen().breach.is_none();
        if is_whole
            && let Some(failure) = stage.verdict().filter(|failure| !is_excused(shared, number, failure))
        {
            notes.judge(Err(format!("{failure} (connection {number})")));
        }
    }
    if notes.seen().breach.is_none() {
        let open = shared.sockets.open();
        notes.judge(if open == 0 { Ok(()) } else { Err(format!("leaks: {open} sockets are open")) });
    }
    let mut faults: Vec<u64> = Vec::new();
    for of_stage in stages.iter().map(Stage::faults) {
        faults.resize(faults.len().max(of_stage.len()), 0);
        faults.iter_mut().zip(of_stage).for_each(|(sum, more)| *sum += more);
    }
    let traces = stages.iter().filter_map(Stage::trace).map(|(_, text)| text);
    let seen = notes.seen();
    let text: String = seen.steps.iter().flatten().map(|step| format!("{step}\n")).collect();
    Report {
        breach: seen.breach.clone(),
        counts: seen.counts.iter().map(|(name, count)| (*name, *count)).collect(),
        faults,
        done: seen.done,
        clients: shared.plan.clients.len(),
        is_gentle: shared.plan.is_gentle,
        text: text + &traces.collect::<String>(),
        turns,
    }
}

/// The laws of a run that is over.
fn of_end(shared: &Shared) -> Result<(), Breach> {
    let tasks = tasks();
    let story = || {
        let stages = (0..place::stages()).filter_map(place::stage).enumerate();
        let told = stages.filter(|(_, stage)| stage.tasks() > 0);
        told.map(|(number, stage)| format!("; {number}: {} tasks, {}", stage.tasks(), stage.story()))
            .collect::<String>()
    };
    law!("stall", tasks == 0, "{tasks} tasks have not ended at {:?}{}", shared.notes.now(), story());
    let (done, excused) = {
        let seen = shared.notes.seen();
        (seen.done, seen.excused)
    };
    let all = shared.plan.clients.len();
    let are_served = done + excused == all;
    law!("stall", !shared.plan.is_gentle || are_served, "{done} of {all} clients were served to their end");
    let slots = place::slots();
    law!("leaks", slots == 0, "all owners are gone, and {slots} slots are left");
    if let Some(running) = &*shared.broker.borrow() {
        let left = running.hub.look(|broker| (broker.owners(), broker.connections(), broker.memory()));
        law!("leaks", left == (0, 0, 0), "the broker has owners, connections and memory: {left:?}");
    }
    Ok(())
}
