//! What two loops share: a world whose hosts they drive, and an executor that polls who was woken, in virtual time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use smbd_core::{Endpoint, Instant};

pub(super) use super::flag::Flag;
use super::notes::Stuck;
use super::watch::{Watchers, check_sleep, time};
use crate::fault::Disruption;
use crate::host::Listener;
use crate::machine::Watched;
use crate::memory::Buffer;
use crate::probe::{At, Probe};
use crate::swarm::{Arranged, FaultKind, Plan, Schedule};
use crate::world::{Step, World};
use crate::{Rng, Side};

/// More than any run takes.
const TURNS_MAX: u64 = 2_000_000;
/// What a loop may take between looking for inputs and arming its device.
const MOMENT: Duration = Duration::from_micros(50);

/// Buffers whose last name is gone.
pub(super) type Dropped = Arc<Mutex<Vec<(Side, Buffer)>>>;
type Task = Pin<Box<dyn Future<Output = ()>>>;
/// What is driven: its every doing is shown to the oracles.
pub(super) type Protocol = Watched<Endpoint, Watchers>;
type LoopWorld = World<Listener, Schedule, Watchers>;

pub(super) struct Hub {
    pub(super) world: RefCell<LoopWorld>,
    sleepers: RefCell<[Option<Sleeper>; 2]>,
    /// Others that sleep, by their numbers.
    timers: RefCell<BTreeMap<u64, (Instant, Waker)>>,
    /// What shuffles tasks that are awake at the same time, if anything does.
    order: RefCell<Option<Rng>>,
    dropped: Dropped,
    tasks: RefCell<Vec<(Arc<Flag>, Task)>>,
    turns: Cell<u64>,
    is_stuck: Cell<bool>,
    /// Devices that wake who sleeps; the others have to be armed before.
    armed: Cell<[bool; 2]>,
    /// Devices that have woken whoever slept.
    woken: Cell<[bool; 2]>,
    /// The network has vanished, and nobody was told.
    is_silent: Cell<bool>,
    /// Buffers in use, which live until the end of the run.
    buffers: Cell<[usize; 2]>,
    /// A side is to end its connection, which may take so long.
    endings: RefCell<[Option<(FaultKind, Duration)>; 2]>,
}

struct Sleeper {
    waker: Waker,
    until: Option<Instant>,
}

impl Hub {
    pub(super) fn new(plan: &Plan, watch: Watchers) -> Rc<Self> {
        let hosts = Side::BOTH.map(|side| plan.host(side, Listener));
        let mut world = World::new(&plan.world(), hosts, plan.schedule(), watch);
        for side in Side::BOTH {
            world.make_bare(side);
        }
        if let Some(faults) = plan.rounds.first() {
            world.faults_mut().arrange(faults);
        }
        Rc::new(Self {
            world: RefCell::new(world),
            sleepers: RefCell::default(),
            timers: RefCell::default(),
            order: RefCell::default(),
            dropped: Dropped::default(),
            tasks: RefCell::default(),
            turns: Cell::new(0),
            is_stuck: Cell::new(false),
            armed: Cell::new([false; 2]),
            woken: Cell::new([false; 2]),
            is_silent: Cell::new(false),
            buffers: Cell::new([0; 2]),
            endings: RefCell::default(),
        })
    }

    pub(super) fn now(&self) -> Instant {
        self.world.borrow().now()
    }

    /// An endpoint that is watched.
    pub(super) fn machine(&self, plan: &Plan, side: Side) -> Protocol {
        let now = self.now();
        let probe = self.world.borrow().shared_probe();
        probe.borrow_mut().begin_whole(At { now, side });
        Watched::new(Endpoint::new(side.into(), &plan.configs[side.index()], now), side, now, probe)
    }

    /// The same, which puts no messages together.
    pub(super) fn machine_in_pieces(&self, plan: &Plan, side: Side) -> Protocol {
        let now = self.now();
        let probe = self.world.borrow().shared_probe();
        probe.borrow_mut().begin_pieces(At { now, side });
        let endpoint = Endpoint::new(side.into(), &plan.configs[side.index()], now).in_pieces();
        Watched::new(endpoint, side, now, probe)
    }

    /// From now on tasks that are awake at the same time are polled in an order that is drawn.
    pub(super) fn shuffle(&self, rng: Rng) {
        *self.order.borrow_mut() = Some(rng);
    }

    /// Wakes at a time; the number tells one who sleeps from the others.
    pub(super) fn wake_at(&self, number: u64, at: Instant, waker: Waker) {
        self.timers.borrow_mut().insert(number, (at, waker));
    }

    /// Does not wake it any more.
    pub(super) fn forget_timer(&self, number: u64) {
        self.timers.borrow_mut().remove(&number);
    }

    /// Where names of buffers go when they are dropped.
    pub(super) fn dropped(&self) -> Dropped {
        Arc::clone(&self.dropped)
    }

    /// Frees memory that nobody has a name of and no device uses.
    pub(super) fn sweep(&self) {
        let Ok(mut dropped) = self.dropped.lock() else { return };
        if dropped.is_empty() {
            return;
        }
        let mut world = self.world.borrow_mut();
        dropped.retain(|(side, buffer)| {
            let device = &mut world.host_mut(*side).device;
            // What is chained is with the device soon.
            let is_used = device.has_chain() || device.nic.buffers.in_use(*buffer);
            if !is_used {
                device.nic.buffers.free(*buffer);
            }
            is_used
        });
    }

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().push((Flag::new(true), Box::pin(task)));
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks.borrow().len()
    }

    pub(super) fn note_buffer(&self, side: Side) {
        let mut buffers = self.buffers.get();
        buffers[side.index()] += 1;
        self.buffers.set(buffers);
    }

    pub(super) const fn buffers(&self) -> [usize; 2] {
        self.buffers.get()
    }

    /// Drops all tasks.
    pub(super) fn clear(&self) {
        let tasks = std::mem::take(&mut *self.tasks.borrow_mut());
        drop(tasks);
        *self.sleepers.borrow_mut() = [None, None];
        self.timers.borrow_mut().clear();
    }

    /// Somebody was told that nobody goes on.
    pub(super) const fn is_stuck(&self) -> bool {
        self.is_stuck.get()
    }

    /// Where it stands, for the report of a failure.
    pub(super) fn story(&self) -> String {
        let world = self.world.borrow();
        let sleepers = self.sleepers.borrow();
        let asleep = Side::BOTH.map(|side| match &sleepers[side.index()] {
            Some(Sleeper { until, .. }) => format!("{} asleep, its timer {}", side.short(), time(*until)),
            None => format!("{} awake", side.short()),
        });
        let [a, b] = asleep;
        format!("after {} turns; next event {}; {a}; {b}", self.turns.get(), time(world.next_time()))
    }

    /// The waker is woken when the device of `side` has something, or at `until`, or later if its timers are late.
    pub(super) fn sleep(&self, side: Side, waker: Waker, until: Option<Instant>) {
        let mut world = self.world.borrow_mut();
        let now = world.now();
        let late = world.faults_mut().lateness(now, side);
        check_sleep(&mut world.probe_mut(), At { now, side }, until, self.armed.get()[side.index()]);
        let until = until.map(|at| at.saturating_add(late));
        self.sleepers.borrow_mut()[side.index()] = Some(Sleeper { waker, until });
    }

    /// From now on the device of `side` wakes who sleeps. Not if it has something already (`true`), which is told at once, or
    /// with a wake.
    pub(super) fn arm(&self, side: Side, nth: u32) -> Result<bool, Stuck> {
        self.count()?;
        if nth.is_multiple_of(3) {
            self.take_time();
        }
        let at_once = nth.is_multiple_of(2);
        let has_input = self.world.borrow_mut().arm_bare(side, at_once);
        set(&self.armed, side, !has_input);
        Ok(has_input)
    }

    /// Whether the device of `side` has woken somebody, and that was not taken.
    pub(super) fn is_woken(&self, side: Side) -> bool {
        self.woken.get()[side.index()]
    }

    pub(super) fn take_woken(&self, side: Side) -> bool {
        let woken = self.is_woken(side);
        set(&self.woken, side, false);
        woken
    }

    /// Lets what is about to happen happen: a loop takes time between looking and waiting.
    fn take_time(&self) {
        let (now, next) = (self.now(), self.world.borrow().next_time());
        if next.is_some_and(|next| next <= now.saturating_add(MOMENT)) {
            self.happen();
        }
    }

    /// How long it may take a side to end its connection, if it is to end it now.
    pub(super) fn take_ending(&self, side: Side) -> Option<Duration> {
        let (kind, within) = self.endings.borrow_mut()[side.index()].take()?;
        self.world.borrow_mut().faults_mut().count(kind);
        Some(within)
    }

    /// Counts what might go on for ever.
    pub(super) fn count(&self) -> Result<(), Stuck> {
        self.turns.set(self.turns.get() + 1);
        let failed = || self.world.borrow().probe().0.oracles.verdicts().failure().is_some();
        if self.turns.get() > TURNS_MAX || failed() {
            self.is_stuck.set(true);
            return Err(Stuck);
        }
        Ok(())
    }

    /// A turn, for who waits.
    pub(super) fn turn_or_stop(&self) -> Result<(), Stuck> {
        if self.turn() {
            return Ok(());
        }
        self.is_stuck.set(true);
        Err(Stuck)
    }

    /// Polls who was woken; if nobody was, lets the next thing happen. `false` if nothing is left to happen, or too much has.
    pub(super) fn turn(&self) -> bool {
        self.count().is_ok() && (self.poll_woken() || self.happen())
    }

    /// Polls who was woken. Whether anybody was.
    pub(super) fn poll_woken(&self) -> bool {
        let mut tasks = std::mem::take(&mut *self.tasks.borrow_mut());
        if let Some(order) = &mut *self.order.borrow_mut() {
            for at in (1..tasks.len()).rev() {
                tasks.swap(at, usize::try_from(order.below(at as u64 + 1)).unwrap_or(0));
            }
        }
        let mut any = false;
        tasks.retain_mut(|(flag, task)| {
            if !flag.take() {
                return true;
            }
            any = true;
            let waker = Waker::from(Arc::clone(flag));
            task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
        });
        self.tasks.borrow_mut().extend(tasks);
        any
    }

    /// When the next thing happens, or the next of those who sleep wakes; `None` if nothing is left to happen by itself.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let (sleepers, timers) = (self.sleepers.borrow(), self.timers.borrow());
        let until = sleepers.iter().flatten().filter_map(|sleeper| sleeper.until);
        let world = self.world.borrow().next_time();
        until.chain(timers.values().map(|(at, _)| *at)).chain(world).min()
    }

    /// Lets time pass up to `at`, if nothing happens before.
    pub(super) fn pass_to(&self, at: Instant) {
        if self.next_time().is_none_or(|next| next > at) {
            self.world.borrow_mut().run_until(at, |_| false);
        }
    }

    /// Lets the next thing happen. `false` if nothing is left to happen.
    pub(super) fn happen(&self) -> bool {
        self.sweep();
        let mut world = self.world.borrow_mut();
        let steps = world.steps();
        while let Some(fault) = world.faults_mut().due(steps) {
            self.strike(&mut world, fault);
        }
        let mut sleepers = self.sleepers.borrow_mut();
        let mut timers = self.timers.borrow_mut();
        let until = sleepers.iter().flatten().filter_map(|sleeper| sleeper.until);
        let timer = until.chain(timers.values().map(|(at, _)| *at)).min();
        let woken = match (world.next_time(), timer) {
            // Who has no timer and nothing under way never finds out by itself.
            (None, None) if self.is_silent.take() => {
                world.disrupt(Disruption::CutLoudly);
                None
            }
            (None, None) => return false,
            (Some(next), timer) if timer.is_none_or(|timer| next <= timer) => match world.step() {
                Some(Step::Poll(side)) => Some(side),
                _ => None,
            },
            (_, timer) => {
                world.run_until(timer.unwrap_or(Instant::ORIGIN), |_| false);
                None
            }
        };
        let now = world.now();
        timers.retain(|_, (at, waker)| {
            let is_due = *at <= now;
            if is_due {
                waker.wake_by_ref();
            }
            !is_due
        });
        for side in Side::BOTH {
            let place = &mut sleepers[side.index()];
            // It wakes once, as a real one.
            let is_woken = woken == Some(side) && self.armed.get()[side.index()];
            if is_woken {
                set(&self.armed, side, false);
                set(&self.woken, side, true);
            }
            let due = |sleeper: &Sleeper| is_woken || sleeper.until.is_some_and(|until| until <= now);
            if place.as_ref().is_some_and(due)
                && let Some(sleeper) = place.take()
            {
                sleeper.waker.wake();
            }
        }
        true
    }

    /// A fault that no piece of work is waited for with. The rest of them need the swarm's workload.
    fn strike(&self, world: &mut LoopWorld, fault: Arranged) {
        let Arranged { kind, side, time, .. } = fault;
        let until = world.now().saturating_add(time);
        match kind {
            FaultKind::QueuePairBroken => world.disrupt(Disruption::BreakQueuePair(side)),
            FaultKind::LinkLost => world.disrupt(Disruption::CutLoudly),
            FaultKind::LinkSilent => {
                world.disrupt(Disruption::CutSilently);
                self.is_silent.set(true);
            }
            FaultKind::ClockJump => world.disrupt(Disruption::ClockJump(time)),
            FaultKind::HostHangs => world.faults_mut().hang(side, until),
            FaultKind::LateCompletions => world.faults_mut().completions_late(side, time),
            FaultKind::LateTimers => world.faults_mut().timers_late(side, time),
            FaultKind::Abort | FaultKind::EarlyFlush => {
                // Counted when it is taken.
                let within = if kind == FaultKind::Abort { Duration::ZERO } else { time };
                self.endings.borrow_mut()[side.index()] = Some((kind, within));
                return;
            }
            _ => return,
        }
        world.faults_mut().count(kind);
    }
}

fn set(both: &Cell<[bool; 2]>, side: Side, value: bool) {
    let mut values = both.get();
    values[side.index()] = value;
    both.set(values);
}
