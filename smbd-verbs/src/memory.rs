//! Buffers as the memory of a transport.

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport::Memory;

use crate::Buffer;

impl Memory for Buffer {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Self::new(len)
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.read(offset, out)
    }

    fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        self.append_to(offset, len, to)
    }
}
