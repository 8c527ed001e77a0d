//! Memory of the stage that a thread plays on, for code that is not handed the stage.

use std::cell::{Cell, RefCell};

use smbd_files::transport::{self, MemoryError, NoRdma};
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::loops::{Block, Stage};
use smbd_sim::memory::Range;

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
    static TOUCHED: Cell<u32> = const { Cell::new(0) };
}

/// From now on memory is of this stage; `None` is nowhere.
pub fn play_on(stage: Option<Stage>) {
    TOUCHED.set(0);
    STAGE.with_borrow_mut(|known| *known = stage);
}

/// How often somebody has touched memory to which the peer had access.
pub fn touched() -> u32 {
    TOUCHED.get()
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

    fn touch(&self, stage: &Stage) {
        if stage.is_open(&self.0) {
            TOUCHED.set(TOUCHED.get() + 1);
        }
    }

    /// Its first bytes.
    pub fn bytes(&self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        transport::Memory::read(self, &mut bytes).ok().map(|()| bytes)
    }
}

impl Placed for Memory {
    fn range(&self) -> Range {
        self.0.range()
    }
}

fn outside(len: usize) -> MemoryError {
    MemoryError { offset: 0, len: u32::try_from(len).unwrap_or(u32::MAX) }
}

impl transport::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Self::of(Side::Initiator, len).ok_or(MemoryError { offset: 0, len })
    }

    fn fill(&self, bytes: &[u8]) -> Result<(), MemoryError> {
        let filled = with(|stage| {
            self.touch(stage);
            stage.fill(&self.0, 0, bytes)
        });
        filled.unwrap_or(Ok(())).map_err(|_| outside(bytes.len()))
    }

    fn read(&self, out: &mut [u8]) -> Result<(), MemoryError> {
        let len = out.len();
        let read = with(|stage| {
            self.touch(stage);
            stage.read(&self.0, 0, out)
        });
        read.unwrap_or(Ok(())).map_err(|_| outside(len))
    }
}

/// Memory of which is known whether the peer has access to it.
pub trait Watched: transport::Memory {
    /// Whether it has it now.
    fn is_open(&self) -> bool;
}

impl Watched for Memory {
    fn is_open(&self) -> bool {
        with(|stage| stage.is_open(&self.0)).unwrap_or(false)
    }
}

impl Watched for NoRdma {
    fn is_open(&self) -> bool {
        false
    }
}
