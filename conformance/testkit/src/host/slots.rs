//! Memory of a simulated host as a slot of a broker.

use smbd_broker::client::SlotMemory;
use smbd_sim::device::Placed as _;

use crate::swarm::Memory;

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
