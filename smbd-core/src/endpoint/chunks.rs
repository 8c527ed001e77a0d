//! Memory of messages that live for a short time.

use core::fmt;

use alloc::vec::Vec;
use bytes::{Bytes, BytesMut};

/// Bytes of the first chunk, and of the largest one.
const FIRST: usize = 512;
const LARGEST: usize = 16 << 10;
/// The longest message in a chunk, in bytes.
const SHORT: usize = LARGEST / 2;

/// Two chunks of memory, to which short messages are copied one behind the other. A chunk is used again when all messages in it were
/// dropped: their owners give nothing back. So copies allocate nothing once a chunk is as large as the messages that are alive at one
/// time.
///
/// A chunk has at most 16 KiB. A message of more than 8 KiB has memory of its own. A message that is kept for long keeps the memory of
/// its chunk; others then go to a new one.
#[derive(Default)]
pub struct Chunks {
    /// The one that messages are copied to.
    present: Chunk,
    /// The one before it, which is full.
    full: Chunk,
    /// Where a message is [written](Self::write).
    draft: Vec<u8>,
}

#[derive(Default)]
struct Chunk {
    free: BytesMut,
    /// Length in bytes of all of it.
    len: usize,
}

impl Chunk {
    /// Whether it has room for so many bytes. It is used from the beginning again if nobody else has a part of it.
    #[inline]
    fn has_room(&mut self, len: usize) -> bool {
        // For less than all of it, no more than that would be reclaimed.
        self.free.capacity() >= len || self.len >= len && self.free.try_reclaim(self.len)
    }
}

impl Chunks {
    /// No memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of memory that are kept.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.present.len.saturating_add(self.full.len).saturating_add(self.draft.capacity())
    }

    /// Copies pieces, one behind the other. Nobody else has the copy.
    #[must_use]
    pub fn copy(&mut self, pieces: &[&[u8]]) -> BytesMut {
        let len = pieces.iter().fold(0_usize, |len, piece| len.saturating_add(piece.len()));
        if len > SHORT {
            let mut own = BytesMut::with_capacity(len);
            pieces.iter().for_each(|piece| own.extend_from_slice(piece));
            return own;
        }
        if !self.present.has_room(len) {
            self.turn(len);
        }
        let free = &mut self.present.free;
        pieces.iter().for_each(|piece| free.extend_from_slice(piece));
        free.split()
    }

    /// Takes what `write` appends to an empty vector: as copied from there, or the vector itself if that is long.
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> (BytesMut, T) {
        let mut draft = core::mem::take(&mut self.draft);
        draft.clear();
        let result = write(&mut draft);
        if draft.len() > SHORT {
            // Of one owner, so nothing is copied.
            return (Bytes::from(draft).into(), result);
        }
        let message = self.copy(&[&draft]);
        if draft.capacity() <= LARGEST {
            self.draft = draft;
        }
        (message, result)
    }

    /// Goes on with the other chunk, or with a new one in the place of the smaller one, for a message of this length.
    #[inline(never)]
    fn turn(&mut self, len: usize) {
        core::mem::swap(&mut self.present, &mut self.full);
        if self.present.has_room(len) {
            return;
        }
        if self.present.len > self.full.len {
            core::mem::swap(&mut self.present, &mut self.full);
        }
        let len = self.full.len.saturating_mul(2).clamp(FIRST, LARGEST).max(len);
        self.present = Chunk { free: BytesMut::with_capacity(len), len };
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunks({} bytes)", self.held())
    }
}

#[cfg(test)]
mod tests;
