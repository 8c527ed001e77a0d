//! Two simulated devices for async code from elsewhere, in virtual time.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::backend::OutOfRange;
use smbd_core::{Instant, Token};
use smbd_link::Messages;
use smbd_link::time::Clock;

use super::end::LoopEnd;
use super::hub::{Dropped, Hub};
use super::verdict;
use super::watch::{Deadlines, Frames};
use crate::device::Placed;
use crate::fault::Disruption;
use crate::memory::{Buffer, Range};
use crate::nic::QpState;
use crate::oracle::Failure;
use crate::swarm::Plan;
use crate::trace::Trace;
use crate::watch::Watch;
use crate::{Rng, Side};

/// Two hosts with simulated devices, and tasks that use them: what an async program is run on, deterministically. A handle; clones
/// are of the same stage.
#[derive(Clone)]
pub struct Stage {
    hub: Rc<Hub>,
    plan: Rc<Plan>,
    numbers: Rc<AtomicU64>,
}

/// Memory of a simulated host. Freed when its last clone is dropped and no device uses it any more.
#[derive(Clone)]
pub struct Block(Arc<Named>);

struct Named {
    side: Side,
    range: Range,
    dropped: Dropped,
}

impl Drop for Named {
    fn drop(&mut self) {
        if let Ok(mut dropped) = self.dropped.lock() {
            dropped.push((self.side, self.range.buffer));
        }
    }
}

impl Placed for Block {
    fn range(&self) -> Range {
        self.0.range
    }
}

impl Clock for Stage {
    type Sleep = Timer;

    fn now(&self) -> Instant {
        Self::now(self)
    }

    fn sleep_until(&self, at: Instant) -> Timer {
        Self::sleep_until(self, at)
    }
}

impl Stage {
    /// Hosts, devices, times and the faults of the first round as `plan` has them. Tasks that are awake at the same time are polled
    /// in an order that `order` draws.
    #[must_use]
    pub fn new(plan: &Plan, trace: Option<Trace>, order: Rng) -> Self {
        let frames = Frames(Rc::new(RefCell::new(())));
        let watch = Watch::new(plan.configs.clone(), trace, frames);
        let hub = Hub::new(plan, (watch, Deadlines::default()));
        hub.shuffle(order);
        Self { hub, plan: Rc::new(plan.clone()), numbers: Rc::default() }
    }

    /// The device of a side. Once for each side.
    #[must_use]
    pub fn end<M: Placed>(&self, side: Side) -> LoopEnd<M> {
        LoopEnd::new(&self.hub, side, &self.plan)
    }

    /// An endpoint for the device of a side, which all laws watch.
    #[must_use]
    pub fn machine(&self, side: Side) -> impl Messages + use<> {
        self.hub.machine(&self.plan, side)
    }

    /// The same, [in pieces](smbd_core::Endpoint::in_pieces).
    #[must_use]
    pub fn machine_in_pieces(&self, side: Side) -> impl Messages + use<> {
        self.hub.machine_in_pieces(&self.plan, side)
    }

    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.hub.spawn(task);
    }

    /// Tasks that have not ended.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.hub.tasks()
    }

    /// Polls who was woken; if nobody was, lets the next thing happen. `false` if nothing is left to happen, a law is broken, or far
    /// too much has happened.
    #[must_use]
    pub fn turn(&self) -> bool {
        self.hub.turn()
    }

    /// Polls who was woken, and lets nothing happen. Whether anybody was. With [`happen`](Self::happen) and
    /// [`pass_to`](Self::pass_to) several stages can share one time.
    #[must_use]
    pub fn poll_woken(&self) -> bool {
        self.hub.count().is_ok() && self.hub.poll_woken()
    }

    /// When the next thing happens, or the next of those who sleep wakes; `None` if nothing is left to happen by itself.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        self.hub.next_time()
    }

    /// Lets the next thing happen. `false` if nothing is left to happen.
    #[must_use]
    pub fn happen(&self) -> bool {
        self.hub.happen()
    }

    /// Lets time pass up to `at`, if nothing happens before.
    pub fn pass_to(&self, at: Instant) {
        self.hub.pass_to(at);
    }

    /// Something goes wrong now.
    pub fn disrupt(&self, disruption: Disruption) {
        self.hub.world.borrow_mut().disrupt(disruption);
    }

    /// Drops all tasks. To be called at the end: tasks have handles of the stage, and the stage has them.
    pub fn clear(&self) {
        self.hub.clear();
    }

    /// Virtual time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.hub.now()
    }

    /// A future that is ready at a time.
    pub fn sleep_until(&self, at: Instant) -> Timer {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Timer { hub: Rc::clone(&self.hub), number, at }
    }

    /// A future that is ready after a time.
    pub fn sleep(&self, time: Duration) -> Timer {
        self.sleep_until(self.now().saturating_add(time))
    }

    /// Whether a side is to end its connection now, and how long it may take for that.
    #[must_use]
    pub fn take_ending(&self, side: Side) -> Option<Duration> {
        self.hub.take_ending(side)
    }

    /// New memory of zeros.
    #[must_use]
    pub fn alloc(&self, side: Side, len: u32) -> Block {
        self.hub.sweep();
        let mut world = self.hub.world.borrow_mut();
        let buffer: Buffer = world.host_mut(side).device.nic.buffers.alloc(len);
        let range = Range { buffer, offset: 0, len };
        Block(Arc::new(Named { side, range, dropped: self.hub.dropped() }))
    }

    /// Copies bytes into memory, as a program does: a breach if the device may be reading it.
    ///
    /// # Errors
    /// The range is not inside. Nothing is copied.
    pub fn fill(&self, block: &Block, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let part = part(block, offset, bytes.len())?;
        let mut world = self.hub.world.borrow_mut();
        let memory = world.host_mut(block.0.side).device.nic.buffers.bytes_mut(part.buffer);
        let start = part.offset as usize;
        if let Some(to) = memory.get_mut(start..start + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Copies bytes out of memory.
    ///
    /// # Errors
    /// The range is not inside. Nothing is copied.
    pub fn read(&self, block: &Block, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let part = part(block, offset, out.len())?;
        let world = self.hub.world.borrow();
        let bytes = world.host(block.0.side).device.nic.buffers.range(part);
        if bytes.len() == out.len() {
            out.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Whether the device may still use memory.
    #[must_use]
    pub fn in_use(&self, block: &Block) -> bool {
        let world = self.hub.world.borrow();
        let device = &world.host(block.0.side).device;
        device.nic.buffers.in_use(block.0.range.buffer)
    }

    /// To how much memory of a side its peer has access that the own device does not use at the moment.
    #[must_use]
    pub fn open_and_unused(&self, side: Side) -> usize {
        let world = self.hub.world.borrow();
        let nic = &world.host(side).device.nic;
        nic.opened().filter(|(_, range)| !nic.buffers.in_use(range.buffer)).count()
    }

    /// Whether a peer has access to memory now.
    #[must_use]
    pub fn is_open(&self, block: &Block) -> bool {
        let world = self.hub.world.borrow();
        let nic = &world.host(block.0.side).device.nic;
        nic.opened().any(|(_, range)| range.buffer == block.0.range.buffer)
    }

    /// The bytes of the memory of a side that a token opens to its peer now; `None` if it opens none.
    #[must_use]
    pub fn opened(&self, side: Side, token: Token) -> Option<Vec<u8>> {
        let world = self.hub.world.borrow();
        let nic = &world.host(side).device.nic;
        let (_, range) = nic.opened().find(|(opened, _)| *opened == token)?;
        Some(nic.buffers.range(range).to_vec())
    }

    /// Whether the queue pair of a side is down.
    #[must_use]
    pub fn is_down(&self, side: Side) -> bool {
        self.hub.world.borrow().host(side).device.nic.state() == QpState::Error
    }

    /// Buffers of a side that are not freed.
    #[must_use]
    pub fn buffers(&self, side: Side) -> usize {
        self.hub.sweep();
        self.hub.world.borrow().host(side).device.nic.buffers.live()
    }

    /// The first law that was broken so far.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.hub.world.borrow().probe().0.oracles.verdicts().failure().cloned()
    }

    /// What is wrong at the end, with all tasks dropped: the first law that was broken on the way, what devices have against their
    /// users, or what was left.
    #[must_use]
    pub fn verdict(&self) -> Option<Failure> {
        self.hub.sweep();
        verdict::judge_devices(&self.hub);
        self.failure()
    }

    /// The digest of the trace, if there is one, and its text, if it is kept.
    #[must_use]
    pub fn trace(&self) -> Option<(u64, String)> {
        let world = self.hub.world.borrow();
        let probe = world.probe();
        probe.0.trace.as_ref().map(|trace| (trace.digest(), trace.text().to_owned()))
    }

    /// Faults that have happened, by kind.
    #[must_use]
    pub fn faults(&self) -> Vec<u64> {
        self.hub.world.borrow_mut().faults_mut().counts().to_vec()
    }

    /// Where it stands, as a text.
    #[must_use]
    pub fn story(&self) -> String {
        self.hub.story()
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Block").field(&self.0.range).finish()
    }
}

fn part(block: &Block, offset: u32, len: usize) -> Result<Range, OutOfRange> {
    let whole = block.0.range;
    let inside = u32::try_from(len).ok().and_then(|len| whole.part(offset, len));
    let len = u64::try_from(len).unwrap_or(u64::MAX);
    inside.ok_or(OutOfRange { offset, len, size: whole.len })
}

/// Ready at a time.
#[must_use = "nobody waits unless it is polled"]
pub struct Timer {
    hub: Rc<Hub>,
    number: u64,
    at: Instant,
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.at <= self.hub.now() {
            return Poll::Ready(());
        }
        self.hub.wake_at(self.number, self.at, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.hub.forget_timer(self.number);
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("at", &self.at).finish_non_exhaustive()
    }
}
