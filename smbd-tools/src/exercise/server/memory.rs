//! Buffers of a server: offered ones, and those of its own RDMA operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use smbd_core::backend::{HostMemory, OutOfRange};
use smbd_core::{BufferDescriptorV1, OpId, RdmaVerb, RegId, Token};

use super::super::pattern::{Digest, fill_pattern};

/// A buffer the client may use.
#[derive(Debug)]
pub(super) struct Offer<M> {
    pub(super) registration: RegId,
    pub(super) buffer: M,
    pub(super) length: u32,
    /// The tag of the request that is not answered yet: of the offer, then of the withdrawal.
    pub(super) asked: u32,
}

/// An RDMA operation, from the request to its end.
#[derive(Debug)]
pub(super) struct Transfer<M> {
    pub(super) tag: u32,
    pub(super) verb: RdmaVerb,
    /// Of the pattern to write.
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) invalidate: Option<Token>,
    pub(super) remote: Arc<[BufferDescriptorV1]>,
    /// Made and filled; there was no room to begin.
    pub(super) buffer: Option<M>,
}

impl<M> Transfer<M> {
    /// Bytes it holds besides its buffer.
    pub(super) fn cost(&self) -> u64 {
        (self.remote.len() * BufferDescriptorV1::LEN) as u64
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Memory<M> {
    /// By the name the client knows.
    pub(super) offers: BTreeMap<u32, Offer<M>>,
    pub(super) transfers: BTreeMap<OpId, (Transfer<M>, M)>,
    /// Of operations that failed: the device may use them until the end of the connection.
    pub(super) lingering: Vec<M>,
    /// Bytes of all of them.
    pub(super) bytes: u64,
    pub(super) next_id: u32,
}

impl<M> Default for Memory<M> {
    fn default() -> Self {
        Self {
            offers: BTreeMap::new(),
            transfers: BTreeMap::new(),
            lingering: Vec::new(),
            bytes: 0,
            next_id: 1,
        }
    }
}

impl<M> Memory<M> {
    pub(super) fn offer_of(&self, registration: RegId) -> Option<(u32, &Offer<M>)> {
        let mut offers = self.offers.iter();
        offers.find(|(_, offer)| offer.registration == registration).map(|(id, offer)| (*id, offer))
    }

    pub(super) fn remove_offer(&mut self, id: u32) {
        if let Some(offer) = self.offers.remove(&id) {
            self.bytes -= u64::from(offer.length);
        }
    }
}

/// Bytes moved at a time between a buffer and the pattern or the hash.
const PIECE: u32 = 64 << 10;

/// Room for such a piece of `length` bytes. Not on the stack: whoever handles an event would have it, too, and look at each page of it.
fn room(length: u32) -> Vec<u8> {
    vec![0; length.min(PIECE) as usize]
}

/// Fills `buffer` from its beginning with what the pattern of `seed` has from `offset` on.
pub(super) fn fill<B: HostMemory>(
    backend: &mut B,
    buffer: &B::Buffer,
    (seed, offset): (u64, u64),
    length: u32,
) -> Result<(), OutOfRange> {
    let mut piece = room(length);
    let mut at = 0;
    while at < length {
        let some = piece.len().min((length - at) as usize);
        fill_pattern(seed, offset.wrapping_add(u64::from(at)), &mut piece[..some]);
        backend.fill(buffer, at, &piece[..some])?;
        at += some as u32;
    }
    Ok(())
}

/// The hash of a range of `buffer`.
pub(super) fn hash<B: HostMemory>(
    backend: &B,
    buffer: &B::Buffer,
    offset: u32,
    length: u32,
) -> Result<u64, OutOfRange> {
    let mut digest = Digest::default();
    let mut piece = room(length);
    let mut done = 0;
    while done < length {
        let some = piece.len().min((length - done) as usize);
        backend.read(buffer, offset.saturating_add(done), &mut piece[..some])?;
        digest.update(&piece[..some]);
        done += some as u32;
    }
    Ok(digest.value())
}
