//! Memory of the caller's, into which data come by RDMA, and out of which they go, without being copied.

use std::fmt;
use std::sync::Arc;

use smbd_smb2::client::BufferId;

use super::ended::Ended;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport::{Heap, Memory};

/// Memory for data of files, which [`Share::buffer`](super::Share::buffer) makes: as registered memory is, if they go by RDMA. What is
/// read into it, or written from it, is not copied in user space then, unless it is signed or encrypted. Otherwise it is copied once.
///
/// Its bytes are copied in and out by [`Self::fill`] and [`Self::read`]. Those of a transfer are unspecified until its result is there.
/// Clones are the same memory.
#[derive(Clone)]
pub struct Buffer(Allocation);

/// What a driver knows a buffer by.
#[derive(Clone)]
pub(super) struct Allocation {
    pub(super) len: u32,
    pub(super) memory: Arc<dyn Memory>,
    /// The connection whose device knows the memory, and its name there; `None` if no device does.
    pub(super) home: Option<(Ended, BufferId)>,
}

impl Allocation {
    /// For a connection without RDMA.
    pub(super) fn plain(len: u32) -> Result<Self, OutOfMemory> {
        Ok(Self { len, memory: Arc::new(Heap::allocate(len)?), home: None })
    }

    /// Its name on a connection, if it is of that one.
    pub(super) fn at(&self, connection: &Ended) -> Option<BufferId> {
        let (home, buffer) = self.home.as_ref()?;
        Arc::ptr_eq(home, connection).then_some(*buffer)
    }
}

impl Buffer {
    pub(super) const fn new(allocation: Allocation) -> Self {
        Self(allocation)
    }

    pub(super) const fn allocation(&self) -> &Allocation {
        &self.0
    }

    /// Its length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no buffer is empty")]
    pub const fn len(&self) -> u32 {
        self.0.len
    }

    /// Copies `bytes` into it, from byte `offset` on.
    ///
    /// # Errors
    /// It has no such range. Nothing is copied.
    pub fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.memory.fill(offset, bytes)
    }

    /// Copies its bytes to `out`, from byte `offset` on.
    ///
    /// # Errors
    /// It has no such range. Nothing is copied.
    pub fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.memory.read(offset, out)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}
