//! Memory that can be registered with devices.

use std::{
    fmt, io, mem,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::{self, NonNull},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use smbd_core::backend::{OutOfMemory, OutOfRange};

/// Length and alignment of a huge page on most machines; a wrong guess costs nothing but alignment.
const HUGE_PAGE: usize = 2 << 20;

// Shared: counted when memory is allocated.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// Page-aligned memory, all zero at first, that can be registered with devices. Clones share the memory. It is freed
/// with the last clone, and after it is deregistered from every device.
///
/// A device may write a registered buffer at any time, so the bytes cannot be borrowed: they are copied in and out. The
/// content of a range that a device or a peer writes meanwhile is unspecified.
#[derive(Clone)]
pub struct Buffer {
    memory: Arc<Memory>,
}

struct Memory {
    start: NonNull<u8>,
    len: u32,
    id: u64,
    /// Copies of this process exclude each other. What devices do is outside.
    // Shared: taken by copies from and to memory of the upper layer. The device has no part in it, and a message in receive buffers neither.
    copies: RwLock<()>,
}

// SAFETY: the mapping belongs to this value alone, and no thread is special to it.
unsafe impl Send for Memory {}
// SAFETY: threads touch the bytes only under `copies`, or through the send and receive slabs, which have one owner.
unsafe impl Sync for Memory {}

impl Buffer {
    /// Allocates `len` bytes, at least 1, all zero. Buffers of 2 MiB and more use huge pages if the system has them.
    ///
    /// # Errors
    /// There is not enough memory, or `len` is 0.
    pub fn new(len: u32) -> Result<Self, OutOfMemory> {
        let start = map(len as usize).ok_or(OutOfMemory { len })?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Self { memory: Arc::new(Memory { start, len, id, copies: RwLock::new(()) }) })
    }

    /// Maps `len` bytes, at least 1, of a file in memory, from byte `offset` on, a multiple of the page size. They are shared with whoever
    /// else has the file. It has to be sealed against shrinking: memory that goes away ends a process that touches it.
    ///
    /// # Errors
    /// `InvalidInput`: the file is not sealed like that, the range is not inside it, or `offset` is not a multiple of the page size. Others
    /// are those of the system.
    pub fn map(file: BorrowedFd<'_>, offset: u64, len: u32) -> io::Result<Self> {
        let start = map_shared(file, offset, len)?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Self { memory: Arc::new(Memory { start, len, id, copies: RwLock::new(()) }) })
    }

    /// Its length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no buffer is empty")]
    pub fn len(&self) -> u32 {
        self.memory.len
    }

    /// An id that no other buffer of this process has or had.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.memory.id
    }

    /// Number of clones, including those in registrations and in posted work.
    #[must_use]
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.memory)
    }

    /// Copies `bytes` into the buffer, from byte `offset` on. Blocks while another thread copies.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    pub fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let to = self.range(offset, bytes.len())?;
        let _alone = self.memory.copies.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread copies. Nobody has a reference to its bytes.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes of the buffer, from byte `offset` on, to `out`. Blocks while another thread fills it.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    pub fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.range(offset, out.len())?;
        let _no_writer = self.memory.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread writes it. `out` is not part of it: nobody has a
        // reference to its bytes.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies `len` bytes of the buffer, from byte `offset` on, to the end of `to`. Blocks while another thread fills it.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    pub fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        let len = len as usize;
        let from = self.range(offset, len)?;
        to.reserve(len);
        let end = to.spare_capacity_mut().as_mut_ptr().cast();
        let _no_writer = self.memory.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread writes it. `to` has room for it, and is not part of it. The bytes
        // are written when its length says that they are there.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), end, len);
            to.set_len(to.len().saturating_add(len));
        }
        Ok(())
    }

    /// Receives up to `len` bytes from a stream socket straight into the buffer, from byte `offset` on, and what follows them
    /// into `behind` (`recvmsg`). Returns the number of both together, 0 at the end of the stream. Does not wait for bytes.
    ///
    /// # Errors
    /// `WouldBlock`: there are none now. `InvalidInput`: the range is not inside the buffer. Others are those of the socket.
    pub fn receive_from(
        &self,
        socket: BorrowedFd<'_>,
        offset: u32,
        len: u32,
        behind: &mut [u8],
    ) -> io::Result<usize> {
        let to = self.range(offset, len as usize).map_err(invalid)?;
        let mut parts = [part(to.as_ptr(), len as usize), part(behind.as_mut_ptr(), behind.len())];
        let mut message = message(&mut parts);
        let _alone = self.memory.copies.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread copies. Nobody has a reference to its bytes. `behind` is
        // borrowed for this call, and `parts` lives as long.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }

    /// Sends `front`, and behind it up to `len` bytes of the buffer, from byte `offset` on, to a stream socket (`sendmsg`).
    /// Returns the number of both together. Does not wait for room.
    ///
    /// # Errors
    /// `WouldBlock`: there is no room now. `InvalidInput`: the range is not inside the buffer. Others are those of the socket.
    pub fn send_to(&self, socket: BorrowedFd<'_>, front: &[u8], offset: u32, len: u32) -> io::Result<usize> {
        let from = self.range(offset, len as usize).map_err(invalid)?;
        let mut parts = [part(front.as_ptr().cast_mut(), front.len()), part(from.as_ptr(), len as usize)];
        let message = message(&mut parts);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let _no_writer = self.memory.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread writes it. `front` is only read, and borrowed for this call.
        // `parts` lives as long.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Reads up to `len` bytes of a file, from its byte `at` on, straight into the buffer, from byte `offset` on (`preadv2`). Returns their
    /// number, 0 at the end of the file. `is_nowait`: only bytes that the system has in memory are read (`RWF_NOWAIT`).
    ///
    /// # Errors
    /// `InvalidInput`: the range is not inside the buffer. `WouldBlock`: the bytes are not in memory. `Unsupported`: the file system cannot
    /// tell. Others are those of the file.
    pub fn read_from(
        &self,
        file: BorrowedFd<'_>,
        is_nowait: bool,
        at: u64,
        (offset, len): (u32, u32),
    ) -> io::Result<usize> {
        let to = self.range(offset, len as usize).map_err(invalid)?;
        let at = libc::off_t::try_from(at).map_err(io::Error::other)?;
        let into = part(to.as_ptr(), len as usize);
        let flags = if is_nowait { libc::RWF_NOWAIT } else { 0 };
        let _alone = self.memory.copies.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread copies. Nobody has a reference to its bytes. `into` lives as long as
        // the call.
        let got = unsafe { libc::preadv2(file.as_raw_fd(), &raw const into, 1, at, flags) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }

    /// Writes up to `len` bytes of the buffer, from byte `offset` on, straight to a file, from its byte `at` on (`pwrite`). Returns their
    /// number.
    ///
    /// # Errors
    /// `InvalidInput`: the range is not inside the buffer. Others are those of the file.
    pub fn write_to(&self, file: BorrowedFd<'_>, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        let from = self.range(offset, len as usize).map_err(invalid)?;
        let at = libc::off_t::try_from(at).map_err(io::Error::other)?;
        let _no_writer = self.memory.copies.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the range is inside the mapping, and no other thread writes it.
        let written = unsafe { libc::pwrite(file.as_raw_fd(), from.as_ptr().cast(), len as usize, at) };
        usize::try_from(written).map_err(|_| io::Error::last_os_error())
    }

    /// Where it begins.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.memory.start
    }

    fn range(&self, offset: u32, len: usize) -> Result<NonNull<u8>, OutOfRange> {
        let size = self.len();
        let out_of_range = OutOfRange { offset, len: len as u64, size };
        let end = u64::from(offset).checked_add(len as u64).ok_or(out_of_range)?;
        if end > u64::from(size) {
            return Err(out_of_range);
        }
        // SAFETY: the offset is at most the length of the mapping.
        Ok(unsafe { self.memory.start.add(offset as usize) })
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({}, {} bytes)", self.memory.id, self.memory.len)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, of this length, and nobody has it any more. Pages at its end that do not
        // belong to a full page of `len` are unmapped with it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len as usize) };
    }
}

/// Bytes of a message to or from a socket.
fn part(start: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: start.cast(), iov_len: len }
}

/// A message of these parts, without an address and control data.
fn message(parts: &mut [libc::iovec; 2]) -> libc::msghdr {
    // SAFETY: all of its fields are numbers and pointers, which may be zero.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message
}

fn invalid(range: OutOfRange) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, range)
}

/// Fresh zeroed pages. Large ones begin where a huge page may begin.
fn map(len: usize) -> Option<NonNull<u8>> {
    if len < HUGE_PAGE {
        return map_pages(len);
    }
    let start = map_pages(len.checked_add(HUGE_PAGE)?)?;
    let before = start.align_offset(HUGE_PAGE);
    let after = HUGE_PAGE - before;
    // SAFETY: the mapping is `before + len + after` bytes long. `before` is a multiple of the page size, as both the
    // start and the huge page are; the tail begins on the page after the last one in use.
    unsafe {
        let aligned = start.add(before);
        if before > 0 {
            libc::munmap(start.as_ptr().cast(), before);
        }
        let end = aligned.add(len);
        let to_page = end.align_offset(page_size());
        if after > to_page {
            libc::munmap(end.add(to_page).as_ptr().cast(), after - to_page);
        }
        // A system without huge pages says so; the memory is good anyway.
        libc::madvise(aligned.as_ptr().cast(), len, libc::MADV_HUGEPAGE);
        Some(aligned)
    }
}

fn map_pages(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: asks for new memory at a place of the system's choice.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
}

/// Pages of a sealed file.
fn map_shared(file: BorrowedFd<'_>, offset: u64, len: u32) -> io::Result<NonNull<u8>> {
    // SAFETY: takes and returns numbers.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    // SAFETY: all of its fields are numbers, which may be zero.
    let mut about: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: the structure is written for this call.
    let known = unsafe { libc::fstat(file.as_raw_fd(), &raw mut about) };
    let size = u64::try_from(about.st_size).unwrap_or(0);
    let is_inside = offset.checked_add(len.into()).is_some_and(|end| end <= size);
    if seals < 0 || seals & libc::F_SEAL_SHRINK == 0 || known != 0 || len == 0 || !is_inside {
        let why = format!(
            "{len} bytes from {offset} of a file of {size} bytes that has to be sealed against shrinking"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
    // SAFETY: asks for new memory at a place of the system's choice. The file keeps its pages: it is sealed.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            len as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            offset,
        )
    };
    match NonNull::new(start.cast()) {
        Some(mapped) if start != libc::MAP_FAILED => Ok(mapped),
        _ => Err(io::Error::last_os_error()),
    }
}

fn page_size() -> usize {
    // SAFETY: takes and returns a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests;
