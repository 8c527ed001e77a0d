//! Memory of a connection for the data of transfers.

use std::sync::Arc;

use smbd_core::backend::OutOfMemory;
use smbd_link::transport::Memory;

use super::Data;

/// Buffers that nobody uses and that are kept, and the shortest that is made, in bytes.
const IDLE_MAX: usize = 8;
const BUFFER_MIN: u32 = 64 << 10;

/// Buffers, which are used again when nobody else has them.
#[derive(Debug)]
pub(super) struct Pool<M> {
    buffers: Vec<Buffer<M>>,
}

#[derive(Debug)]
struct Buffer<M> {
    memory: Arc<M>,
    /// Length in bytes.
    len: u32,
}

impl<M> Buffer<M> {
    /// Whether nobody else has it.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.memory) == 1
    }
}

impl<M: Memory> Pool<M> {
    pub(super) const fn new() -> Self {
        Self { buffers: Vec::new() }
    }

    /// Memory of so many bytes at least.
    pub(super) fn take(&mut self, len: u32) -> Result<Arc<M>, String> {
        self.take_of(len, M::allocate)
    }

    fn take_of(
        &mut self,
        len: u32,
        make: impl FnOnce(u32) -> Result<M, OutOfMemory>,
    ) -> Result<Arc<M>, String> {
        if let Some(buffer) = self.buffers.iter().find(|buffer| buffer.len >= len && buffer.is_idle()) {
            return Ok(Arc::clone(&buffer.memory));
        }
        let mut kept = 0;
        self.buffers.retain(|buffer| {
            kept += usize::from(buffer.is_idle());
            !buffer.is_idle() || kept < IDLE_MAX
        });
        let room = len.max(BUFFER_MIN).checked_next_power_of_two().unwrap_or(len);
        let memory = make(room).map_err(|error| format!("a transfer by RDMA: {error}"))?;
        let memory = Arc::new(memory);
        self.buffers.push(Buffer { memory: Arc::clone(&memory), len: room });
        Ok(memory)
    }

    /// The memory of the pool that this is, if it is one.
    pub(super) fn own(&self, data: &Data) -> Option<Arc<M>> {
        let is_own = |buffer: &&Buffer<M>| std::ptr::addr_eq(Arc::as_ptr(&buffer.memory), Arc::as_ptr(data));
        self.buffers.iter().find(is_own).map(|buffer| Arc::clone(&buffer.memory))
    }
}

#[cfg(test)]
mod tests {
    use smbd_link::transport::Heap;

    use super::*;

    #[test]
    fn memory_is_used_again_when_nobody_else_has_it() {
        let mut pool = Pool::<Heap>::new();
        let first: Data = pool.take(100).unwrap();
        let second: Data = pool.take(100).unwrap();
        assert!(!Arc::ptr_eq(&first, &second), "the first is in use");
        let kept = Arc::clone(&first);
        drop(first);
        let third: Data = pool.take(100).unwrap();
        assert!(!Arc::ptr_eq(&kept, &third), "a thread has it still");
        let was = Arc::as_ptr(&second);
        drop(second);
        let again: Data = pool.take(100).unwrap();
        assert!(std::ptr::addr_eq(was, Arc::as_ptr(&again)));
        assert!(pool.own(&again).is_some());
        let foreign: Data = Arc::new(Heap::allocate(1).unwrap());
        assert!(pool.own(&foreign).is_none());
    }

    #[test]
    fn only_so_many_idle_buffers_are_kept() {
        let mut pool = Pool::<Heap>::new();
        let all: Vec<Data> = (0..20).map(|_| -> Data { pool.take(1).unwrap() }).collect();
        drop(all);
        // One that fits none makes room.
        drop(pool.take(1 << 20).unwrap());
        assert!(pool.buffers.len() <= IDLE_MAX, "{}", pool.buffers.len());
    }

    #[test]
    fn a_transfer_for_which_there_is_no_memory_ends_its_connection_with_that_reason() {
        let made = |len| if len == 128 << 10 { Err(OutOfMemory { len }) } else { Heap::allocate(len) };
        let mut pool = Pool::new();
        assert_eq!(pool.take_of(1, made).unwrap().len(), 64 << 10);
        let said = pool.take_of((64 << 10) + 1, made).unwrap_err();
        assert_eq!(said, format!("a transfer by RDMA: {}", OutOfMemory { len: 128 << 10 }));
        assert!(said.contains("memory"), "{said}");
    }
}
