//! Memory and time of the stage that a thread plays on, for code that is handed neither.

use std::cell::RefCell;
use std::time::Duration;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_gateway::Clock;
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{Block, Stage, Timer};
use smbd_sim::memory::Range;

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// From now on allocations are made on this stage; `None` is none.
pub fn play_on(stage: Option<Stage>) {
    STAGE.with_borrow_mut(|place| *place = stage);
}

fn with<T>(call: impl FnOnce(&Stage) -> T) -> Option<T> {
    STAGE.with_borrow(|stage| stage.as_ref().map(call))
}

/// Memory of a simulated host.
#[derive(Clone, Debug)]
pub struct Memory(Block);

impl Memory {
    /// New memory of a host. `None` without a stage.
    pub fn of(side: Side, len: u32) -> Option<Self> {
        with(|stage| Self(stage.alloc(side, len)))
    }
}

impl Placed for Memory {
    fn range(&self) -> Range {
        self.0.range()
    }
}

impl smbd_gateway::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::of(Side::Acceptor, len).ok_or(OutOfMemory { len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        with(|stage| stage.fill(&self.0, offset, bytes)).unwrap_or(Ok(()))
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        with(|stage| stage.read(&self.0, offset, out)).unwrap_or(Ok(()))
    }
}

/// The time of a stage.
#[derive(Clone, Debug)]
pub struct VirtualTime(pub Stage);

impl Clock for VirtualTime {
    type Sleep = Timer;

    fn sleep(&self, time: Duration) -> Timer {
        self.0.sleep(time)
    }
}
