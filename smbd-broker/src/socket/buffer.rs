//! Memory for packets.

use std::fmt;

use crate::wire::PACKET_MAX;

/// Memory for a packet that comes. It is made when the first one comes, and used for all others.
#[derive(Default)]
pub struct PacketBuffer {
    /// One byte more than the longest packet has, by which a longer one shows.
    space: Vec<u8>,
    len: usize,
}

impl PacketBuffer {
    /// One without a packet.
    #[must_use]
    pub const fn new() -> Self {
        Self { space: Vec::new(), len: 0 }
    }

    /// The packet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.space.get(..self.len).unwrap_or_default()
    }

    /// Where a packet is to be written. There is none until [`filled`](Self::filled).
    pub fn space(&mut self) -> &mut [u8] {
        self.len = 0;
        if self.space.is_empty() {
            self.space.resize(PACKET_MAX.saturating_add(1), 0);
        }
        &mut self.space
    }

    /// So many bytes were written.
    pub fn filled(&mut self, len: usize) {
        self.len = len.min(self.space.len());
    }
}

impl fmt::Debug for PacketBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}
