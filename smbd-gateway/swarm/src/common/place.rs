//! Memory of the stage that a thread plays on, for code that is not handed the stage.

use std::cell::{Cell, RefCell};

use smbd_core::backend::OutOfRange;
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{Block, Stage};
use smbd_sim::memory::Range;

/// Where a thread plays.
#[derive(Clone, Debug)]
pub struct Place {
    pub stage: Stage,
    /// The side of what ships. It may not touch its memory while the peer has access to it.
    pub home: Side,
    /// Nor may the other side.
    pub watches_both: bool,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
    static TOUCHED: Cell<u32> = const { Cell::new(0) };
}

/// From now on memory is of this place; `None` is nowhere.
pub fn play_on(place: Option<Place>) {
    TOUCHED.set(0);
    PLACE.with_borrow_mut(|known| *known = place);
}

/// How often somebody has touched memory to which the peer had access.
pub(super) fn touched() -> u32 {
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
    /// New memory of a host. `None` without a place.
    pub fn of(side: Side, len: u32) -> Option<Self> {
        with(|place| Self { block: place.stage.alloc(side, len), side })
    }

    /// New memory of the side of what ships.
    pub fn at_home(len: u32) -> Option<Self> {
        with(|place| place.home).and_then(|side| Self::of(side, len))
    }

    /// Whether the peer has access to it.
    pub fn is_open(&self) -> bool {
        with(|place| place.stage.is_open(&self.block)).unwrap_or(false)
    }

    fn touch(&self) {
        let is_watched = with(|place| place.watches_both || self.side == place.home).unwrap_or(false);
        if is_watched && self.is_open() {
            TOUCHED.set(TOUCHED.get() + 1);
        }
    }

    /// Nowhere, nothing happens.
    pub fn write_at(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.touch();
        self.put_at(offset, bytes)
    }

    /// The same, for who may do so while the peer has access to it: it has no use for these bytes yet.
    pub fn put_at(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        with(|place| place.stage.fill(&self.block, offset, bytes)).unwrap_or(Ok(()))
    }

    /// Nowhere, nothing happens.
    pub fn read_at(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.touch();
        self.copy_at(offset, out)
    }

    /// The same, for who may do so while the peer has access to it: nothing of what is copied is believed.
    pub fn copy_at(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        with(|place| place.stage.read(&self.block, offset, out)).unwrap_or(Ok(()))
    }
}

impl Placed for Memory {
    fn range(&self) -> Range {
        self.block.range()
    }
}
