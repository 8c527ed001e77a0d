//! What slots are made of.

use std::io;
use std::os::fd::OwnedFd;

use crate::socket::Mapping;

/// What comes with the answer of GET_MEM_PARAMS: slots, one behind the other.
pub trait SlotFile: Send + Sync + 'static {
    /// A slot, where an owner sees it.
    type Slot: SlotMemory;

    /// The slot of `len` bytes that begins at byte `at`.
    ///
    /// # Errors
    /// It is not there, or the system refuses.
    fn slot(&self, at: u64, len: u32) -> io::Result<Self::Slot>;
}

/// The bytes of a slot. A device may change them at any time, so they are copied in and out.
pub trait SlotMemory: Send + Sync + 'static {
    /// Copies bytes to it, from byte `at` on. Those that do not fit are left out.
    fn fill(&self, at: usize, bytes: &[u8]);

    /// Copies `len` bytes, from byte `at` on, to the end of `to`, as many as there are.
    fn read(&self, at: usize, len: usize, to: &mut Vec<u8>);
}

impl SlotFile for OwnedFd {
    type Slot = Mapping;

    fn slot(&self, at: u64, len: u32) -> io::Result<Mapping> {
        Mapping::new(self, at, len as usize)
    }
}

impl SlotMemory for Mapping {
    fn fill(&self, at: usize, bytes: &[u8]) {
        self.fill(at, bytes);
    }

    fn read(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        self.read(at, len, to);
    }
}
