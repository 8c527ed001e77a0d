//! Memory that data are moved to and from by RDMA.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_core::backend::{OutOfMemory, OutOfRange};

/// Memory that a device can access. Clones name the same memory; it is freed with the last of them.
pub trait Memory: fmt::Debug + Send + Sync + 'static {
    /// Allocates `len` bytes, all zero.
    ///
    /// # Errors
    /// There is not enough memory.
    fn allocate(len: u32) -> Result<Self, OutOfMemory>
    where
        Self: Sized;

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

    /// Copies `len` bytes of it, from byte `offset` on, to the end of `to`.
    ///
    /// # Errors
    /// The range is not inside the memory. Nothing is copied.
    fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        let start = to.len();
        to.resize(start.saturating_add(len as usize), 0);
        let read = self.read(offset, to.get_mut(start..).unwrap_or_default());
        read.inspect_err(|_| to.truncate(start))
    }

    /// Reads up to `len` bytes of a file, from byte `at` on, to byte `offset` of the memory and behind it. Returns their number: 0 at the end of
    /// the file. Memory that the system can read to has no copy on the way.
    ///
    /// # Errors
    /// Those of the file; `InvalidInput`: the range is not inside the memory.
    fn read_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        let mut bytes = vec![0; len as usize];
        let count = file.read_at(at, &mut bytes)?;
        let read = bytes.get(..count).unwrap_or(&bytes);
        self.fill(offset, read).map_err(invalid)?;
        Ok(count)
    }

    /// Writes up to `len` bytes of the memory, from byte `offset` on, to byte `at` of a file and behind it. Returns their number.
    ///
    /// # Errors
    /// Those of the file; `InvalidInput`: the range is not inside the memory.
    fn write_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        let mut bytes = Vec::new();
        self.append_to(offset, len, &mut bytes).map_err(invalid)?;
        file.write_at(at, &bytes)
    }
}

fn invalid(outside: OutOfRange) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, outside)
}

/// A file that memory is read from and written to.
pub trait File {
    /// The descriptor by which the system reads and writes the file, if there is one.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Whether nothing may be waited for (`RWF_NOWAIT`): a read of bytes that are not in memory is `WouldBlock`.
    fn is_nowait(&self) -> bool {
        false
    }

    /// Reads bytes, from byte `at` on. Returns their number: 0 at the end of the file.
    ///
    /// # Errors
    /// Those of the file.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Writes bytes, from byte `at` on. Returns their number.
    ///
    /// # Errors
    /// Those of the file.
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<usize>;
}

/// The memory of a transport without RDMA. There is none, and no value of this type.
#[derive(Clone, Copy, Debug)]
pub struct NoRdma(Infallible);

impl NoRdma {
    /// Is never called.
    pub(crate) const fn never(self) {
        match self.0 {}
    }
}

impl Memory for NoRdma {
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

/// Memory on the heap of this process, which no device accesses: for a transport that copies, as over a broker, and for simulations.
#[derive(Clone)]
// Shared: for transports that copy. No device accesses it.
pub struct Heap(Arc<Mutex<Box<[u8]>>>);

impl Heap {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.bytes().len()).unwrap_or(u32::MAX)
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    fn bytes(&self) -> MutexGuard<'_, Box<[u8]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn range(bytes: &[u8], offset: u32, len: usize) -> Result<Range<usize>, OutOfRange> {
    let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let end = (offset as usize).checked_add(len).filter(|end| *end <= bytes.len());
    end.map(|end| offset as usize..end).ok_or(OutOfRange { offset, len: len as u64, size })
}

impl Memory for Heap {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len as usize).map_err(|_| OutOfMemory { len })?;
        bytes.resize(len as usize, 0);
        Ok(Self(Arc::new(Mutex::new(bytes.into_boxed_slice()))))
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let mut all = self.bytes();
        let range = range(&all, offset, bytes.len())?;
        all.get_mut(range).unwrap_or_default().copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let all = self.bytes();
        let range = range(&all, offset, out.len())?;
        out.copy_from_slice(all.get(range).unwrap_or_default());
        Ok(())
    }

    fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        let all = self.bytes();
        let range = range(&all, offset, len as usize)?;
        to.extend_from_slice(all.get(range).unwrap_or_default());
        Ok(())
    }

    fn read_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        let mut all = self.bytes();
        let range = range(&all, offset, len as usize).map_err(invalid)?;
        file.read_at(at, all.get_mut(range).unwrap_or_default())
    }

    fn write_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        let all = self.bytes();
        let range = range(&all, offset, len as usize).map_err(invalid)?;
        file.write_at(at, all.get(range).unwrap_or_default())
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heap({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_outside_are_neither_read_nor_written() {
        let heap = Heap::allocate(8).unwrap();
        heap.fill(2, b"abcdef").unwrap();
        let outside = |offset, len| OutOfRange { offset, len, size: 8 };
        assert_eq!(heap.fill(3, b"uvwxyz"), Err(outside(3, 6)));
        assert_eq!(heap.fill(u32::MAX, b"u"), Err(outside(u32::MAX, 1)));
        assert_eq!(heap.read(8, &mut [1]), Err(outside(8, 1)));
        let mut all = vec![9];
        assert_eq!(heap.append_to(1, 8, &mut all), Err(outside(1, 8)));
        assert_eq!(all, [9], "nothing is added");
        heap.append_to(0, 8, &mut all).unwrap();
        assert_eq!(all, b"\x09\0\0abcdef");
    }
}
