//! Memory for data that go by RDMA: a buffer for each transfer under way.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use smbd_smb2::client::BufferId;

use super::settings::PIECE_MAX;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::transport::Memory;

/// Buffers of [`PIECE_MAX`] bytes, which are allocated when they are needed and used again.
#[derive(Debug)]
pub(super) struct Pool<M> {
    max: usize,
    all: BTreeMap<BufferId, Buffer<M>>,
    free: Vec<BufferId>,
    /// The callers', as long as they have them.
    callers: BTreeMap<BufferId, (M, Weak<M>)>,
    next_caller: u64,
}

/// Names of the callers' buffers begin here.
const CALLERS_FIRST: u64 = 1 << 32;
/// How many they may have at one time.
const CALLERS_MAX: usize = 1024;

#[derive(Debug)]
struct Buffer<M> {
    memory: M,
    /// The data of a WRITE, as they were given.
    plain: Bytes,
    /// Parts of a READ that were checked: where they begin, and their data.
    checked: Vec<(usize, Vec<u8>)>,
}

impl<M: Memory + Clone> Pool<M> {
    pub(super) fn new(max: u16) -> Self {
        let (all, free, callers) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Self { max: max.max(1).into(), all, free, callers, next_caller: CALLERS_FIRST }
    }

    /// A buffer that nobody uses; `None` if all are used.
    pub(super) fn take(&mut self) -> Result<Option<BufferId>, OutOfMemory> {
        if let Some(buffer) = self.free.pop() {
            return Ok(Some(buffer));
        }
        if self.all.len() >= self.max {
            return Ok(None);
        }
        match M::allocate(PIECE_MAX) {
            Ok(memory) => {
                let buffer = BufferId(self.all.len() as u64);
                self.all.insert(buffer, Buffer { memory, plain: Bytes::new(), checked: Vec::new() });
                Ok(Some(buffer))
            }
            // With less memory it goes on more slowly.
            Err(_) if !self.all.is_empty() => {
                self.max = self.all.len();
                Ok(None)
            }
            Err(none) => Err(none),
        }
    }

    /// Takes one back. What was in it is shown to nobody any more.
    pub(super) fn give_back(&mut self, buffer: BufferId) {
        if let Some(back) = self.all.get_mut(&buffer) {
            (back.plain, back.checked) = (Bytes::new(), Vec::new());
        }
        self.free.push(buffer);
    }

    pub(super) fn memory(&self, buffer: BufferId) -> Option<&M> {
        let callers = || self.callers.get(&buffer).map(|(memory, _)| memory);
        self.all.get(&buffer).map(|buffer| &buffer.memory).or_else(callers)
    }

    /// New memory for a caller. It is forgotten when the caller, and whatever is under way, has dropped it.
    pub(super) fn allocate(&mut self, len: u32) -> Result<(BufferId, Arc<dyn Memory>), OutOfMemory> {
        self.callers.retain(|_, (_, caller)| caller.strong_count() > 0);
        if self.callers.len() >= CALLERS_MAX {
            return Err(OutOfMemory { len });
        }
        let memory = M::allocate(len)?;
        let (buffer, caller) = (BufferId(self.next_caller), Arc::new(memory.clone()));
        self.next_caller = self.next_caller.saturating_add(1);
        self.callers.insert(buffer, (memory, Arc::downgrade(&caller)));
        Ok((buffer, caller))
    }

    /// Gives a buffer the data of a WRITE. Those that will be encrypted do not get into memory that a device knows as they are.
    pub(super) fn fill(
        &mut self,
        buffer: BufferId,
        plain: &Bytes,
        is_encrypted: bool,
    ) -> Result<(), OutOfRange> {
        let Some(buffer) = self.all.get_mut(&buffer) else { return Ok(()) };
        if !is_encrypted {
            buffer.memory.fill(0, plain)?;
        }
        buffer.plain = plain.clone();
        Ok(())
    }

    /// So many bytes of the data of a WRITE.
    pub(super) fn plain(&self, buffer: BufferId, offset: u64, len: u32) -> Option<&[u8]> {
        let (start, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        self.all.get(&buffer)?.plain.get(start..start.checked_add(len)?)
    }

    /// Takes data of a READ that were checked.
    pub(super) fn checked(&mut self, buffer: BufferId, offset: u64, data: Vec<u8>) {
        if let (Some(buffer), Ok(start)) = (self.all.get_mut(&buffer), usize::try_from(offset)) {
            buffer.checked.push((start, data));
        }
    }

    /// The first `count` bytes that a READ has brought.
    pub(super) fn read(&mut self, buffer: BufferId, count: usize) -> Result<Vec<u8>, OutOfRange> {
        let Some(buffer) = self.all.get_mut(&buffer) else { return Ok(Vec::new()) };
        let mut checked = std::mem::take(&mut buffer.checked);
        if let [(0, data)] = &mut checked[..]
            && data.len() >= count
        {
            let mut data = std::mem::take(data);
            data.truncate(count);
            return Ok(data);
        }
        let mut all = Vec::new();
        let len = u32::try_from(count).unwrap_or(u32::MAX);
        buffer.memory.append_to(0, len, &mut all)?;
        for (start, data) in checked {
            let room = all.get_mut(start..).unwrap_or_default();
            room.iter_mut().zip(data).for_each(|(to, from)| *to = from);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
