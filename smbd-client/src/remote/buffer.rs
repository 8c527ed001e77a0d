//! Memory of the caller's, into which data come by RDMA, and out of which they go, without being copied.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use smbd_smb2::client::BufferId;

use super::ended::Ended;
use smbd_core::backend::OutOfRange;
use smbd_link::transport::Memory;

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
    pub(super) memory: Arc<dyn Place>,
    /// The connection whose device knows the memory, and its name there; `None` if no device does.
    pub(super) home: Option<(Ended, BufferId)>,
}

/// Memory, whatever transport it is of.
pub(super) trait Place: Send + Sync {
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange>;
    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange>;
}

/// That of a transport.
pub(super) struct Of<M>(pub(super) M);

impl<M: Memory> Place for Of<M> {
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(offset, out)
    }
}

/// That of nobody else: data come and go in messages.
struct Plain(Mutex<Vec<u8>>);

impl Place for Plain {
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outside = outside(&all, offset, bytes.len());
        let room = all.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        room.ok_or(outside)?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = all.get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or_else(|| outside(&all, offset, out.len()))?);
        Ok(())
    }
}

fn outside(all: &[u8], offset: u32, len: usize) -> OutOfRange {
    OutOfRange { offset, len: len as u64, size: u32::try_from(all.len()).unwrap_or(u32::MAX) }
}

impl Allocation {
    /// For a connection without RDMA.
    pub(super) fn plain(len: u32) -> Self {
        Self { len, memory: Arc::new(Plain(Mutex::new(vec![0; len as usize]))), home: None }
    }

    /// Its name on a connection, if it is of that one.
    pub(super) fn at(&self, connection: &Ended) -> Option<BufferId> {
        let (home, buffer) = self.home.as_ref()?;
        Arc::ptr_eq(home, connection).then_some(*buffer)
    }

    /// Its first `len` bytes.
    pub(super) fn to_vec(&self, len: u32) -> Result<Vec<u8>, OutOfRange> {
        let mut bytes = vec![0; len as usize];
        self.memory.read(0, &mut bytes).map(|()| bytes)
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
