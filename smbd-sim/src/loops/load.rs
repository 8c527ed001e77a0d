//! What a run sends.

use bytes::Bytes;
use smbd_core::Negotiated;
use smbd_link::handles::Options as Waiting;

use crate::Rng;

/// What the initiator sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Messages.
    pub messages: usize,
    /// Messages that are sent before the first is waited for.
    pub window: usize,
    /// Length of the longest, in bytes.
    pub longest: usize,
    /// Length of a buffer that the acceptor reads and writes by RDMA before the first message, in bytes; 0 is none.
    pub moved: u32,
    /// What is kept for an acceptor of async calls; little.
    pub waiting: Waiting,
}

impl Load {
    pub(super) fn drawn(rng: &mut Rng) -> Self {
        let messages_max = usize::try_from(rng.between(1, 8)).unwrap_or(1);
        Self {
            messages: usize::try_from(rng.between(1, 60)).unwrap_or(1),
            window: usize::try_from(rng.between(1, 4)).unwrap_or(1),
            longest: 1 << rng.between(0, 15),
            // One segment: devices take at least so many bytes in one.
            moved: if rng.chance(1, 2) { u32::try_from(rng.between(1, 2000)).unwrap_or(1) } else { 0 },
            waiting: Waiting { messages_max, bytes_max: 1 << rng.between(0, 16), in_pieces: false },
        }
    }

    /// A message; no two neighbours are the same.
    pub(super) fn message(&self, nth: usize, negotiated: &Negotiated) -> Bytes {
        let most = self.longest.min(negotiated.max_fragmented_send_size as usize);
        let len = 1 + nth.wrapping_mul(7919) % most;
        (0..len).map(|at| u8::try_from((at * 7 + nth * 31) % 251).unwrap_or(0)).collect()
    }
}
