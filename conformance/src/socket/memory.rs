//! Memory of an end, and the part of it that is open to the peer.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_core::backend::OutOfRange;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, RegId, Token};

/// Where registered memory begins in the numbering of its peer.
const BASE: u64 = 0x1_0000;
/// No token comes twice in a program, so those of one connection are not valid on another.
static NEXT_TOKEN: AtomicU32 = AtomicU32::new(0x5D00_0001);

/// Memory that can be registered. Clones name the same bytes.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// `len` zeros.
    pub(super) fn new(len: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![0; len])))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `bytes` to an offset.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    pub fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let mut buffer = self.bytes();
        let range = range(buffer.len(), offset, bytes.len())?;
        buffer[range].copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes from an offset to `out`.
    ///
    /// # Errors
    /// The range is not inside the buffer. Nothing is copied.
    pub fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let buffer = self.bytes();
        out.copy_from_slice(&buffer[range(buffer.len(), offset, out.len())?]);
        Ok(())
    }

    /// A copy of a range.
    pub(super) fn copy(&self, offset: u32, len: u32) -> Result<Vec<u8>, OutOfRange> {
        let buffer = self.bytes();
        let range = range(buffer.len(), offset, len as usize)?;
        Ok(buffer[range].to_vec())
    }

    fn len(&self) -> u32 {
        u32::try_from(self.bytes().len()).unwrap_or(u32::MAX)
    }
}

fn range(size: usize, offset: u32, len: usize) -> Result<Range<usize>, OutOfRange> {
    let start = offset as usize;
    let end = start.checked_add(len).filter(|end| *end <= size);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    end.map(|end| start..end).ok_or(OutOfRange { offset, len: len as u64, size })
}

#[derive(Debug)]
struct Region {
    id: RegId,
    token: Token,
    access: Access,
    buffer: Buffer,
}

/// What is open to the peer of one connection.
#[derive(Debug, Default)]
pub(super) struct Regions(Vec<Region>);

impl Regions {
    /// Opens all of a buffer.
    pub(super) fn open(&mut self, id: RegId, access: Access, buffer: &Buffer) -> BufferDescriptorV1 {
        let token = Token(NEXT_TOKEN.fetch_add(1, Ordering::Relaxed));
        self.0.push(Region { id, token, access, buffer: buffer.clone() });
        BufferDescriptorV1 { offset: BASE, token, length: buffer.len() }
    }

    /// Ends the peer's access to a registration.
    pub(super) fn close(&mut self, id: RegId) {
        self.0.retain(|region| region.id != id);
    }

    /// Ends the peer's access to everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Ends access by a token, at the wish of the peer; `false` if it is not valid.
    pub(super) fn invalidate(&mut self, token: Token) -> bool {
        let before = self.0.len();
        self.0.retain(|region| region.token != token);
        self.0.len() < before
    }

    /// The memory that a request of the peer reaches, and where it begins.
    ///
    /// # Errors
    /// Why it is not open to the request.
    pub(super) fn reach(&self, verb: RdmaVerb, remote: BufferDescriptorV1) -> Result<(Buffer, u32), String> {
        let BufferDescriptorV1 { offset, token, length } = remote;
        let known = self.0.iter().find(|region| region.token == token);
        let region = known.ok_or_else(|| format!("token 0x{:x} is not valid", token.0))?;
        let may = match verb {
            RdmaVerb::Read => region.access.reads(),
            RdmaVerb::Write => region.access.writes(),
        };
        if !may {
            return Err(format!("token 0x{:x} does not allow a {verb:?}", token.0));
        }
        let size = region.buffer.len();
        let start = offset.checked_sub(BASE).and_then(|start| u32::try_from(start).ok());
        let inside = |start: &u32| start.checked_add(length).is_some_and(|end| end <= size);
        start.filter(inside).map(|start| (region.buffer.clone(), start)).ok_or_else(|| {
            let (first, behind) = (BASE, BASE + u64::from(size));
            format!("{length} bytes at 0x{offset:x}; token 0x{:x} opens 0x{first:x} to 0x{behind:x}", token.0)
        })
    }
}
