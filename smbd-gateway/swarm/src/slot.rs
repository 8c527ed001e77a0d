//! Slots: memory of the stage that the broker's device and the gateway share.

use std::io;
use std::sync::Arc;

use smbd_broker::client::{SlotFile, SlotMemory};
use smbd_sim::device::Placed as _;

use crate::memory::Memory;
use crate::socket::Passed;

/// New slots, as they are passed to their owner.
pub type Slots = Arc<[Memory]>;

impl SlotFile for Passed {
    type Slot = Memory;

    fn slot(&self, at: u64, len: u32) -> io::Result<Memory> {
        let Self::Memory(slots) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        let at = usize::try_from(at / u64::from(len.max(1))).unwrap_or(usize::MAX);
        slots.get(at).cloned().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

impl SlotMemory for Memory {
    fn fill(&self, at: usize, bytes: &[u8]) {
        let len = bytes.len().min((self.range().len as usize).saturating_sub(at));
        let filled = self.write_at(at as u32, &bytes[..len]);
        debug_assert!(filled.is_ok(), "it is inside");
    }

    fn read(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        let len = len.min((self.range().len as usize).saturating_sub(at));
        let begin = to.len();
        to.resize(begin + len, 0);
        let read = self.read_at(at as u32, &mut to[begin..]);
        debug_assert!(read.is_ok(), "it is inside");
    }
}
