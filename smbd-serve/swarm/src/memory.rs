//! Memory as the client wants it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport::{self, NoRdma};
use smbd_sim::Side;
use smbd_sim::device::Placed;
use smbd_sim::memory::{Buffer, Range};

pub use smbd_testkit::swarm::Memory;

/// Memory of which is known whether the peer has access to it.
pub trait Watched: transport::Memory + Clone {
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

thread_local! {
    static POOLED: RefCell<Vec<Memory>> = const { RefCell::new(Vec::new()) };
    static IS_PLAIN: Cell<bool> = const { Cell::new(false) };
    /// Bytes of each: handles want more than any transfer of a run needs.
    static POOLED_MAX: Cell<u32> = const { Cell::new(0) };
}

/// Memory of a client's handles, all of which is known.
#[derive(Clone, Debug)]
pub struct Pooled(Memory);

impl Pooled {
    /// A run begins whose transfers have so many bytes at most. `is_plain`: what goes by RDMA is neither signed nor encrypted, so nobody
    /// has a reason to touch memory that is open to the server.
    pub fn begin(max: u32, is_plain: bool) {
        Self::forget_all();
        IS_PLAIN.set(is_plain);
        POOLED_MAX.set(max);
    }

    /// A run is over.
    pub fn forget_all() {
        POOLED.take();
    }

    /// How much of it is open to the server.
    pub fn open_count() -> usize {
        POOLED.with_borrow(|pooled| pooled.iter().filter(|memory| memory.is_open()).count())
    }
}

impl transport::Memory for Pooled {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        let memory = Memory::at_home(len.min(POOLED_MAX.get())).ok_or(OutOfMemory { len })?;
        POOLED.with_borrow_mut(|pooled| pooled.push(memory.clone()));
        Ok(Self(memory))
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        if IS_PLAIN.get() { self.0.write_at(offset, bytes) } else { self.0.put_at(offset, bytes) }
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        if IS_PLAIN.get() { self.0.read_at(offset, out) } else { self.0.copy_at(offset, out) }
    }
}

impl Placed for Pooled {
    fn range(&self) -> Range {
        self.0.range()
    }
}

thread_local! {
    /// Bytes of memory of the server, and the buffer that was used last.
    static HELD: Cell<usize> = const { Cell::new(0) };
    static USED: Cell<Option<Buffer>> = const { Cell::new(None) };
}

/// Memory of the server.
#[derive(Clone, Debug)]
pub struct OfServer {
    memory: Memory,
    _held: Arc<Held>,
}

/// So many bytes are held.
#[derive(Debug)]
struct Held(usize);

impl Drop for Held {
    fn drop(&mut self) {
        // At the end of the thread nobody counts.
        let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(self.0)));
    }
}

impl OfServer {
    /// How many bytes the server holds.
    pub fn held() -> usize {
        HELD.get()
    }

    /// The buffer that somebody has filled or read last. Nothing if that was none of the server's.
    pub fn used_last() -> Option<Buffer> {
        USED.take()
    }
}

impl transport::Memory for OfServer {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        let memory = Memory::of(Side::Acceptor, len).ok_or(OutOfMemory { len })?;
        HELD.set(HELD.get() + len as usize);
        Ok(Self { memory, _held: Arc::new(Held(len as usize)) })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        USED.set(Some(self.memory.range().buffer));
        self.memory.write_at(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        USED.set(Some(self.memory.range().buffer));
        self.memory.read_at(offset, out)
    }
}

impl Placed for OfServer {
    fn range(&self) -> Range {
        self.memory.range()
    }
}
