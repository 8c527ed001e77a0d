//! Memory for data that go by RDMA: a buffer for each transfer under way.

use std::collections::BTreeMap;

use smbd_smb2::client::BufferId;

use super::settings::PIECE_MAX;
use crate::transport::{Memory, MemoryError};

/// Buffers of [`PIECE_MAX`] bytes, which are allocated when they are needed and used again.
#[derive(Debug)]
pub(super) struct Pool<M> {
    max: usize,
    all: BTreeMap<BufferId, M>,
    free: Vec<BufferId>,
}

impl<M: Memory> Pool<M> {
    pub(super) fn new(max: u16) -> Self {
        Self { max: max.max(1).into(), all: BTreeMap::new(), free: Vec::new() }
    }

    /// A buffer that nobody uses; `None` if all are used.
    pub(super) fn take(&mut self) -> Result<Option<BufferId>, MemoryError> {
        if let Some(buffer) = self.free.pop() {
            return Ok(Some(buffer));
        }
        if self.all.len() >= self.max {
            return Ok(None);
        }
        match M::allocate(PIECE_MAX) {
            Ok(memory) => {
                let buffer = BufferId(self.all.len() as u64);
                self.all.insert(buffer, memory);
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

    /// Takes one back.
    pub(super) fn give_back(&mut self, buffer: BufferId) {
        self.free.push(buffer);
    }

    pub(super) fn memory(&self, buffer: BufferId) -> Option<&M> {
        self.all.get(&buffer)
    }
}
