use core::fmt;

use bytes::BytesMut;

/// Least size of a new buffer, once longer messages have been seen: room for many short ones.
const CHUNK: usize = 64 * 1024;

/// The buffer that messages are copied to, one after the other.
#[derive(Default)]
pub(super) struct Reassembly {
    /// Holds what has arrived of the present message.
    buffer: BytesMut,
    /// Length of the longest message that arrived in full.
    longest: usize,
}

impl fmt::Debug for Reassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.buffer.len(), self.buffer.capacity())
    }
}

impl Reassembly {
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Appends a fragment of a message that has `total` bytes from this fragment on. Returns how many bytes that were
    /// here already had to be copied to a bigger buffer.
    pub(super) fn append(&mut self, first: bool, fragment: &[u8], total: usize) -> usize {
        let moved = if first { self.begin(fragment.len(), total) } else { self.grow(fragment.len(), total) };
        self.buffer.extend_from_slice(fragment);
        moved
    }

    pub(super) fn finish(&mut self) -> BytesMut {
        self.longest = self.longest.max(self.buffer.len());
        self.buffer.split()
    }

    /// Room for as much of a new message as messages had before: what is announced counts for nothing.
    fn begin(&mut self, fragment: usize, total: usize) -> usize {
        debug_assert!(self.buffer.is_empty(), "a message begins when the one before it is complete");
        let wanted = total.min(self.longest).max(fragment);
        let room = wanted.max(self.longest.min(CHUNK));
        // Nothing is there, so reclaiming copies nothing; it works as soon as all messages before were dropped. For no more than this
        // message, the next one would find no room while this one is kept.
        if self.buffer.capacity() < wanted && !self.buffer.try_reclaim(room) {
            self.buffer = BytesMut::with_capacity(room);
        }
        0
    }

    /// By doubling, but never beyond the message. `BytesMut` would grow on its own, and further.
    fn grow(&mut self, fragment: usize, total: usize) -> usize {
        let len = self.buffer.len();
        let needed = len.saturating_add(fragment);
        if needed <= self.buffer.capacity() {
            return 0;
        }
        let end = len.saturating_add(total);
        let mut grown = BytesMut::with_capacity(needed.saturating_mul(2).min(end).max(needed));
        grown.extend_from_slice(&self.buffer);
        self.buffer = grown;
        len
    }
}
