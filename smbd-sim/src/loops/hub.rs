//! What two loops share: a world whose hosts they drive, and an executor that polls who was woken, in virtual time.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use smbd_core::backend::{Backend, BackendOp, ReceiveMemory};
use smbd_core::runtime::Waitable;
use smbd_core::runtime::blocking::Blocking;
use smbd_core::runtime::engine::Poller;
use smbd_core::runtime::tokio::PollReady;
use smbd_core::{BufferDescriptorV1, Endpoint, Head, Input, Instant, RecvId, RegId, Token};

use crate::Side;
use crate::fault::Disruption;
use crate::host::Listener;
use crate::machine::Watched;
use crate::memory::Range;
use crate::oracle::Oracles;
use crate::probe::{At, Probe};
use crate::swarm::{Plan, Schedule};
use crate::world::{self, World};

/// More than any run takes.
const TURNS_MAX: u64 = 2_000_000;

/// What is driven: its every doing is shown to the oracles.
pub(super) type Protocol = Watched<Endpoint, Oracles>;
type Task = Pin<Box<dyn Future<Output = ()>>>;

pub(super) struct Hub {
    pub(super) world: RefCell<World<Listener, Schedule, Oracles>>,
    sleepers: RefCell<[Option<Sleeper>; 2]>,
    tasks: RefCell<Vec<(Arc<Flag>, Task)>>,
    turns: Cell<u64>,
    /// Turns until something breaks.
    disruption: Cell<Option<(u64, Disruption)>>,
    /// The network has vanished, and nobody was told.
    is_silent: Cell<bool>,
}

struct Sleeper {
    waker: Waker,
    until: Option<Instant>,
}

/// Says that it was woken.
pub(super) struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    pub(super) fn raised() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(true)))
    }

    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Hub {
    pub(super) fn new(plan: &Plan, disruption: Option<(u64, Disruption)>) -> Rc<Self> {
        let hosts = Side::BOTH.map(|side| plan.host(side, Listener));
        let schedule = Schedule::new(plan.seam.clone());
        let oracles = Oracles::new(plan.configs.clone());
        let mut world = World::new(&plan.world(), hosts, schedule, oracles);
        for side in Side::BOTH {
            world.make_bare(side);
        }
        if let Some(faults) = plan.rounds.first() {
            world.faults_mut().arrange(faults);
        }
        Rc::new(Self {
            world: RefCell::new(world),
            sleepers: RefCell::default(),
            tasks: RefCell::default(),
            turns: Cell::new(0),
            disruption: Cell::new(disruption),
            is_silent: Cell::new(false),
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

    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.tasks.borrow_mut().push((Flag::raised(), Box::pin(task)));
    }

    /// Where it stands, for the report of a failure.
    pub(super) fn story(&self) -> String {
        let world = self.world.borrow();
        let until = |place: &Option<Sleeper>| place.as_ref().map(|sleeper| sleeper.until);
        let sleepers: Vec<_> = self.sleepers.borrow().iter().map(until).collect();
        let (now, turns, next) = (world.now(), self.turns.get(), world.next_time());
        let [a, b] = Side::BOTH.map(|side| world.host(side).device.has_more());
        format!("at {now:?} after {turns} turns; next: {next:?}, asleep until {sleepers:?}, more: {a} {b}")
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks.borrow().len()
    }

    fn sleep(&self, side: Side, waker: Waker, until: Option<Instant>) {
        self.sleepers.borrow_mut()[side.index()] = Some(Sleeper { waker, until });
    }

    /// Polls who was woken; if nobody was, lets the next thing happen. `false` if nothing is left to happen, or too much has.
    pub(super) fn turn(&self) -> bool {
        self.turns.set(self.turns.get() + 1);
        if self.turns.get() > TURNS_MAX {
            return false;
        }
        let mut tasks = std::mem::take(&mut *self.tasks.borrow_mut());
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
        any || self.happen()
    }

    fn happen(&self) -> bool {
        let mut world = self.world.borrow_mut();
        if let Some((at, disruption)) = self.disruption.get()
            && at <= self.turns.get()
        {
            self.disruption.set(None);
            world.disrupt(disruption);
            self.is_silent.set(matches!(disruption, Disruption::CutSilently));
        }
        let mut sleepers = self.sleepers.borrow_mut();
        let timer = sleepers.iter().flatten().filter_map(|sleeper| sleeper.until).min();
        let woken = match (world.next_time(), timer) {
            // Who has no timer and nothing under way never finds out by itself.
            (None, None) if self.is_silent.take() => {
                world.disrupt(Disruption::CutLoudly);
                None
            }
            (None, None) => return false,
            (Some(next), timer) if timer.is_none_or(|timer| next <= timer) => match world.step() {
                Some(world::Step::Poll(side)) => Some(side),
                _ => None,
            },
            (_, timer) => {
                world.run_until(timer.unwrap_or(Instant::ORIGIN), |_| false);
                None
            }
        };
        let now = world.now();
        for side in Side::BOTH {
            let place = &mut sleepers[side.index()];
            let due =
                |sleeper: &Sleeper| woken == Some(side) || sleeper.until.is_some_and(|until| until <= now);
            if place.as_ref().is_some_and(due)
                && let Some(sleeper) = place.take()
            {
                sleeper.waker.wake();
            }
        }
        true
    }
}

/// One host's device, owned by whoever drives it.
pub(super) struct LoopEnd {
    hub: Rc<Hub>,
    side: Side,
    received: Vec<Vec<u8>>,
    segments: Vec<BufferDescriptorV1>,
    /// Every other time that it is armed, what is there already is told by a wake.
    armed: u32,
}

/// What has to be copied of an input before the world is let go.
enum Rest {
    Message(RecvId, Head, u32, Option<Token>),
    Segments(RegId, bool),
}

impl LoopEnd {
    pub(super) fn new(hub: &Rc<Hub>, side: Side, plan: &Plan) -> Self {
        let slots = plan.configs[side.index()].budget().recv_slots as usize;
        let received = vec![Vec::new(); slots];
        Self { hub: Rc::clone(hub), side, received, segments: Vec::new(), armed: 0 }
    }
}

impl ReceiveMemory for LoopEnd {
    fn received(&self, id: RecvId) -> &[u8] {
        self.received.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }
}

impl Backend for LoopEnd {
    type Buffer = Range;

    fn now(&self) -> Instant {
        self.hub.now()
    }

    fn execute(&mut self, step: BackendOp<'_, Range>) {
        self.hub.world.borrow_mut().end(self.side).execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.hub.world.borrow_mut().end::<Range>(self.side).ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let mut world = self.hub.world.borrow_mut();
        let rest = match world.next_input(self.side)? {
            Input::Received { id, head, len, invalidated } => Rest::Message(id, head, len, invalidated),
            Input::Registered { id, segments, bind_complete } => {
                self.segments = segments.to_vec();
                Rest::Segments(id, bind_complete)
            }
            Input::Connected { limits } => return Some(Input::Connected { limits }),
            Input::ConnectFailed { reason } => return Some(Input::ConnectFailed { reason }),
            Input::Disconnected { reason } => return Some(Input::Disconnected { reason }),
            Input::Timeout => return Some(Input::Timeout),
            Input::Sent { id } => return Some(Input::Sent { id }),
            Input::RdmaDone { id } => return Some(Input::RdmaDone { id }),
            Input::BindComplete { id } => return Some(Input::BindComplete { id }),
            Input::Deregistered { id } => return Some(Input::Deregistered { id }),
            Input::Failed { id, error } => return Some(Input::Failed { id, error }),
        };
        match rest {
            Rest::Message(id, head, len, invalidated) => {
                let message = world.host(self.side).device.nic.message(id);
                message.clone_into(&mut self.received[usize::from(id.slot())]);
                Some(Input::Received { id, head, len, invalidated })
            }
            Rest::Segments(id, bind_complete) => {
                drop(world);
                Some(Input::Registered { id, segments: &self.segments, bind_complete })
            }
        }
    }
}

impl Waitable for LoopEnd {
    type Error = Infallible;

    fn arm(&mut self) -> Result<bool, Infallible> {
        self.armed += 1;
        Ok(self.hub.world.borrow_mut().arm_bare(self.side, self.armed.is_multiple_of(2)))
    }

    fn is_ready(&mut self) -> bool {
        self.hub.world.borrow().host(self.side).device.has_more()
    }

    fn busy_poll_micros_max(&self) -> u64 {
        0
    }
}

impl PollReady for LoopEnd {
    type Error = Infallible;

    fn poll_ready(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<Result<(), Infallible>> {
        if until.is_some_and(|until| until <= self.now()) || self.arm() == Ok(true) {
            return Poll::Ready(Ok(()));
        }
        self.hub.sleep(self.side, cx.waker().clone(), until);
        Poll::Pending
    }
}

impl Blocking for LoopEnd {
    type Error = Infallible;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Infallible> {
        if until.is_some_and(|until| until <= self.now()) || self.arm() == Ok(true) {
            return Ok(());
        }
        let flag = Flag::raised();
        flag.take();
        self.hub.sleep(self.side, Waker::from(Arc::clone(&flag)), until);
        while !flag.take() {
            assert!(self.hub.turn(), "a wait that nothing ends");
        }
        Ok(())
    }
}

/// Waits for the one backend of an engine.
pub(super) struct HubPoller {
    hub: Rc<Hub>,
    side: Side,
    name: usize,
    flag: Arc<Flag>,
}

impl Hub {
    /// Whoever runs an engine without letting it wait sleeps until its device has something, or its deadline.
    pub(super) fn sleep_for_engine(
        &self,
        side: Side,
        flag: &Arc<Flag>,
        waker: &Waker,
        until: Option<Instant>,
    ) {
        let both = Arc::new(Both(Arc::clone(flag), waker.clone()));
        self.sleep(side, Waker::from(both), until);
    }
}

struct Both(Arc<Flag>, Waker);

impl Wake for Both {
    fn wake(self: Arc<Self>) {
        self.0.0.store(true, Ordering::Relaxed);
        self.1.wake_by_ref();
    }
}

impl Poller<LoopEnd> for HubPoller {
    type Error = Infallible;
    type Clock = (Rc<Hub>, Side, Arc<Flag>);
    type Watched<'a> = ();

    fn open((hub, side, flag): Self::Clock) -> Result<Self, Infallible> {
        Ok(Self { hub, side, name: 0, flag })
    }

    fn clock(&self) -> Self::Clock {
        (Rc::clone(&self.hub), self.side, Arc::clone(&self.flag))
    }

    fn now(&self) -> Instant {
        self.hub.now()
    }

    fn add(&mut self, _: &LoopEnd, name: usize) -> Result<(), Infallible> {
        self.name = name;
        Ok(())
    }

    fn remove(&mut self, _: &LoopEnd, _: usize) {}

    fn watch(&self, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Infallible> {
        if until.is_none_or(|until| until > self.now()) {
            self.hub.sleep(self.side, Waker::from(Arc::clone(&self.flag)), until);
            while !self.flag.0.load(Ordering::Relaxed) {
                assert!(self.hub.turn(), "a wait that nothing ends");
            }
        }
        if self.flag.take() {
            ready.push(self.name);
        }
        Ok(false)
    }
}
