//! Memory and time of the stage that a thread plays on, for code that is handed neither.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_gateway::Clock;
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{Block, Stage, Timer};
use smbd_sim::memory::Range;

/// A stage, and the side on which the gateway is.
type Place = (Stage, Side);

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
    static TOUCHED: Cell<u32> = const { Cell::new(0) };
}

/// From now on the gateway is here; `None` is nowhere.
pub fn play_on(place: Option<Place>) {
    TOUCHED.set(0);
    PLACE.with_borrow_mut(|known| *known = place);
}

/// How often the gateway has touched memory to which its peer had access.
pub fn touched() -> u32 {
    TOUCHED.get()
}

fn with<T>(call: impl FnOnce(&Place) -> T) -> Option<T> {
    PLACE.with_borrow(|place| place.as_ref().map(call))
}

/// Memory of a simulated host.
#[derive(Clone, Debug)]
pub struct Memory {
    block: Block,
    side: Side,
}

impl Memory {
    /// New memory of a host. `None` without a stage.
    pub fn of(side: Side, len: u32) -> Option<Self> {
        with(|(stage, _)| Self { block: stage.alloc(side, len), side })
    }

    /// What the gateway reads or writes nobody else may at that time.
    fn touch(&self, (stage, gateway): &Place) {
        if self.side == *gateway && stage.is_open(&self.block) {
            TOUCHED.set(TOUCHED.get() + 1);
        }
    }
}

impl Placed for Memory {
    fn range(&self) -> Range {
        self.block.range()
    }
}

impl smbd_gateway::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        let side = with(|(_, gateway)| *gateway);
        side.and_then(|side| Self::of(side, len)).ok_or(OutOfMemory { len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let filled = with(|place| {
            self.touch(place);
            place.0.fill(&self.block, offset, bytes)
        });
        filled.unwrap_or(Ok(()))
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let read = with(|place| {
            self.touch(place);
            place.0.read(&self.block, offset, out)
        });
        read.unwrap_or(Ok(()))
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
