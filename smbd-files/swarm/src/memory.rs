//! Memory as the client wants it.

use smbd_files::transport::{self, MemoryError, NoRdma};

pub use crate::common::Memory;

impl Memory {
    /// Its first bytes.
    pub fn bytes(&self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.read_at(0, &mut bytes).ok().map(|()| bytes)
    }
}

impl transport::Memory for Memory {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Self::at_home(len).ok_or(MemoryError { offset: 0, len })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), MemoryError> {
        self.write_at(offset, bytes).map_err(|_| MemoryError::outside(offset, bytes.len()))
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), MemoryError> {
        self.read_at(offset, out).map_err(|_| MemoryError::outside(offset, out.len()))
    }
}

/// Memory of which is known whether the peer has access to it.
pub trait Watched: transport::Memory {
    /// Whether it has it now.
    fn is_open(&self) -> bool;
}

impl Watched for Memory {
    fn is_open(&self) -> bool {
        Self::is_open(self)
    }
}

impl Watched for NoRdma {
    fn is_open(&self) -> bool {
        false
    }
}
