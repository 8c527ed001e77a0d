//! Memory as the gateway wants it.

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport;

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
