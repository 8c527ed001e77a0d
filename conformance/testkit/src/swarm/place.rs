//! Memory of the stage that a thread plays on, for code that is not handed the stage.

use std::cell::{Cell, RefCell};

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport;
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{Block, Stage};
use smbd_sim::memory::Range;

/// Where a thread plays.
#[derive(Clone, Debug)]
pub struct Place {
    /// The simulated devices.
    pub stage: Stage,
    /// The side of what ships. It may not touch its memory while the peer has access to it.
    pub home: Side,
    /// Nor may the other side.
    pub watches_both: bool,
    /// What ships may use one part of a memory, with [`transport::Memory`], while the peer has access to the whole.
    pub shares_parts: bool,
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

fn shares_parts() -> bool {
    with(|place| place.shares_parts).unwrap_or(true)
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

    /// Its first bytes. `None` if it is shorter.
    pub fn bytes(&self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read_at(0, &mut bytes).ok().map(|()| bytes)
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

    /// Writes. Without a place nothing happens.
    ///
    /// # Errors
    /// The bytes are not inside the memory.
    pub fn write_at(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.touch();
        self.put_at(offset, bytes)
    }

    /// The same, for who may do so while the peer has access to it: it has no use for these bytes yet.
    ///
    /// # Errors
    /// The bytes are not inside the memory.
    pub fn put_at(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        with(|place| place.stage.fill(&self.block, offset, bytes)).unwrap_or(Ok(()))
    }

    /// Reads. Without a place nothing happens.
    ///
    /// # Errors
    /// The bytes are not inside the memory.
    pub fn read_at(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.touch();
        self.copy_at(offset, out)
    }

    /// The same, for who may do so while the peer has access to it: nothing of what is copied is believed.
    ///
    /// # Errors
    /// The bytes are not inside the memory.
    pub fn copy_at(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        with(|place| place.stage.read(&self.block, offset, out)).unwrap_or(Ok(()))
    }
}

impl transport::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::at_home(len).ok_or(OutOfMemory { len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        if shares_parts() { self.put_at(offset, bytes) } else { self.write_at(offset, bytes) }
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        if shares_parts() { self.copy_at(offset, out) } else { self.read_at(offset, out) }
    }
}

impl Placed for Memory {
    fn range(&self) -> Range {
        self.block.range()
    }
}
