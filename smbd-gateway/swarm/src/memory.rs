//! Memory and time as the gateway wants them.

use std::time::Duration;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_gateway::Clock;
use smbd_link::transport;
use smbd_sim::loops::{Stage, Timer};

pub use crate::common::Memory;

impl transport::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::at_home(len).ok_or(OutOfMemory { len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.write_at(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.read_at(offset, out)
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
