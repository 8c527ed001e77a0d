//! Memory that a device has registered already.

use smbd_smb2::wire::BufferDescriptorV1;

use crate::Chance;

/// The longest piece, in bytes.
pub const PIECE_MAX: usize = 2000;
/// With less a piece is used as far as it goes, so that there is enough for other elements of the message.
const PLENTY: usize = 20_000;

/// Registered memory that no request uses.
#[derive(Debug)]
pub struct Pool {
    free: Vec<BufferDescriptorV1>,
    /// Whether the peer can invalidate its tokens.
    pub can_invalidate: bool,
}

impl Pool {
    pub fn new(can_invalidate: bool) -> Self {
        Self { free: Vec::new(), can_invalidate }
    }

    pub fn add(&mut self, memory: BufferDescriptorV1) {
        self.free.push(memory);
    }

    /// Bytes of all of it.
    pub fn bytes(&self) -> usize {
        self.free.iter().map(|memory| memory.length as usize).sum()
    }

    /// A piece of memory for the beginning of `len` bytes, how many of them go there, and where in it. There has
    /// to be some.
    pub fn take(
        &mut self,
        len: usize,
        may_cut: bool,
        chance: &mut Chance,
    ) -> (BufferDescriptorV1, usize, usize) {
        let memory = self.free.swap_remove(chance.below(self.free.len()));
        let room = memory.length as usize;
        let most = len.min(room);
        let is_cut = may_cut && self.bytes() >= len + PLENTY && chance.one_in(2);
        let len = if is_cut { chance.below(most + 1) } else { most };
        (memory, len, chance.below(room - len + 1))
    }
}
