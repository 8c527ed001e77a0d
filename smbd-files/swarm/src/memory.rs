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
        // The driver encrypts a part, and copies one that is to be checked, while the peer may still use another part of the buffer, and
        // with it the whole.
        self.put_at(offset, bytes).map_err(|_| MemoryError::outside(offset, bytes.len()))
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), MemoryError> {
        self.copy_at(offset, out).map_err(|_| MemoryError::outside(offset, out.len()))
    }
}

/// Memory of which is known whether the peer has access to it.
pub trait Watched: transport::Memory {
    /// Whether it has it now.
    fn is_open(&self) -> bool;

    /// Its first bytes, which nobody can change any more.
    fn settled(&self, len: usize) -> Option<Vec<u8>>;
}

impl Watched for Memory {
    fn is_open(&self) -> bool {
        Self::is_open(self)
    }

    fn settled(&self, len: usize) -> Option<Vec<u8>> {
        self.bytes(len)
    }
}

impl Watched for NoRdma {
    fn is_open(&self) -> bool {
        false
    }

    fn settled(&self, _: usize) -> Option<Vec<u8>> {
        None
    }
}
