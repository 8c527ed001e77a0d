//! Memory that data are moved to and from by RDMA.

use std::convert::Infallible;

use smbd_core::backend::{OutOfMemory, OutOfRange};

/// Memory that a device can access. Clones name the same memory; it is freed with the last of them.
pub trait Memory: Clone + Send + Sync + 'static {
    /// Allocates `len` bytes, all zero.
    ///
    /// # Errors
    /// There is not enough memory.
    fn allocate(len: u32) -> Result<Self, OutOfMemory>;

    /// Copies `bytes` to it, from byte `offset` on.
    ///
    /// # Errors
    /// The range is not inside the memory. Nothing is copied.
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange>;

    /// Copies bytes of it, from byte `offset` on, to `out`.
    ///
    /// # Errors
    /// The range is not inside the memory. Nothing is copied.
    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange>;
}

/// The memory of a transport without RDMA. There is none, and no value of this type.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory(Infallible);

impl NoMemory {
    /// Is never called.
    pub(crate) const fn never(self) {
        match self.0 {}
    }
}

impl Memory for NoMemory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Err(OutOfMemory { len })
    }

    fn fill(&self, _: u32, _: &[u8]) -> Result<(), OutOfRange> {
        match self.0 {}
    }

    fn read(&self, _: u32, _: &mut [u8]) -> Result<(), OutOfRange> {
        match self.0 {}
    }
}
