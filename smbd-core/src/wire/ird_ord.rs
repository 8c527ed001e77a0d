//! IRD/ORD Negotiate Header (section 6): how many RDMA Reads may be outstanding. It is in the private data of an iWARP
//! connection whose provider does not negotiate this by itself.
//!
//! Section 6 leaves two things open. It does not state the byte order: this module writes network order, and reads a
//! header as little-endian if it is only valid in that order, because old Linux clients send it. And 6.2 defines the
//! fields of the reply from the requester's point of view, although 6.1 defines them as the sender's own: [`View`]
//! selects one. The two differ on the wire only if the depths of the peers differ.
//!
//! Only for iWARP: InfiniBand and RoCE pad private data with zeros, which are depths of zero here. A peer on iWARP may
//! send no header; then the provider's own values are valid.

use thiserror::Error;

use super::WireError;
use super::layout::layout;
use super::words::{words, words_mut};

layout! { "IRD/ORD Negotiate Header", "6.1":
    IRD = "IRD" at 0..4;
    ORD = "ORD" at 4..8;
}

/// The largest depth that is sent: a larger one could be a small one in the other byte order.
pub const MAX_DEPTH: u32 = 0xFFFF;

/// RDMA Read depths of one peer, as numbers of RDMA Reads: a header (6.1), or the settings of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IrdOrd {
    /// Inbound RDMA Read Queue Depth: RDMA Reads of the peer that may be outstanding (`responder_resources` of
    /// rdma_cm).
    pub ird: u32,
    /// Outbound RDMA Read Queue Depth: own RDMA Reads that may be outstanding (`initiator_depth` of rdma_cm).
    pub ord: u32,
}

/// The byte order of a received header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Network order, which [`IrdOrd::encode`] writes.
    Big,
    /// The order of old Linux clients.
    LegacyLittle,
}

/// Whose depths the header of a reply contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Those of the acceptor, which sends it (6.1), as Linux does.
    #[default]
    Sender,
    /// Those that the requester has to set (6.2 literally).
    Requester,
}

/// A negotiated depth is zero. The connection has to be rejected (6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "read depth settles at zero: local IRD {} and ORD {}, peer IRD {} and ORD {} (6.2)",
    .local.ird, .local.ord, .peer.ird, .peer.ord
)]
pub struct NoReadDepth {
    /// The depths of the local provider.
    pub local: IrdOrd,
    /// The depths of the peer.
    pub peer: IrdOrd,
}

impl IrdOrd {
    /// Size of the header in bytes.
    pub const LEN: usize = 8;

    /// Reads the header at the beginning of `bytes`, and ignores what follows it.
    ///
    /// The header is little-endian if a value in network order is above [`MAX_DEPTH`], and none is in little-endian
    /// order: no provider has such a depth.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`Self::LEN`] bytes, [`WireError::Zero`] if a depth
    /// is zero (6.1).
    pub fn parse(bytes: &[u8]) -> Result<(Self, ByteOrder), WireError> {
        let Some(&[ird, ord]) = words(bytes) else { return Err(LAYOUT.truncated(0, bytes.len())) };
        let network = Self { ird: u32::from_be_bytes(ird), ord: u32::from_be_bytes(ord) };
        let legacy = Self { ird: u32::from_le_bytes(ird), ord: u32::from_le_bytes(ord) };
        network.check_not_zero()?;
        // A depth that is not zero is plausible in one order at most.
        if legacy.is_plausible() {
            Ok((legacy, ByteOrder::LegacyLittle))
        } else {
            Ok((network, ByteOrder::Big))
        }
    }

    /// Writes the header in network order to the beginning of `out` and returns its size in bytes.
    ///
    /// # Errors
    /// [`WireError::Zero`] if a depth is zero (6.1), [`WireError::NoRoom`] if `out` is shorter than
    /// [`Self::LEN`]. Nothing is written then.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        self.check_not_zero()?;
        let got = out.len();
        let Some(words) = words_mut(out) else { return Err(LAYOUT.no_room(Self::LEN, got)) };
        *words = [self.ird.to_be_bytes(), self.ord.to_be_bytes()];
        Ok(Self::LEN)
    }

    fn check_not_zero(&self) -> Result<(), WireError> {
        match LAYOUT.fields().zip([self.ird, self.ord]).find(|&(_, depth)| depth == 0) {
            Some((field, _)) => Err(WireError::Zero { field }),
            None => Ok(()),
        }
    }

    const fn is_plausible(self) -> bool {
        self.ird <= MAX_DEPTH && self.ord <= MAX_DEPTH
    }

    const fn exchanged(self) -> Self {
        Self { ird: self.ord, ord: self.ird }
    }
}

/// The header of a connection request from a provider with the depths `local`. Zero is not allowed on the wire (6.1),
/// so a depth of 0 is sent as 1, and one above [`MAX_DEPTH`] as [`MAX_DEPTH`].
#[must_use]
pub fn offer(local: IrdOrd) -> IrdOrd {
    IrdOrd { ird: local.ird.clamp(1, MAX_DEPTH), ord: local.ord.clamp(1, MAX_DEPTH) }
}

/// The depths to set at the local provider. `peer` are the depths of the peer. No side issues more RDMA Reads than the
/// other side serves (6.2), or more than [`MAX_DEPTH`].
///
/// # Errors
/// [`NoReadDepth`] if a resulting depth is zero.
pub fn settle(local: IrdOrd, peer: IrdOrd) -> Result<IrdOrd, NoReadDepth> {
    let settled =
        IrdOrd { ird: local.ird.min(peer.ord).min(MAX_DEPTH), ord: local.ord.min(peer.ird).min(MAX_DEPTH) };
    if settled.ird == 0 || settled.ord == 0 { Err(NoReadDepth { local, peer }) } else { Ok(settled) }
}

/// The header of the acceptor's reply to a request with the header `peer` (6.2). The acceptor sets its own provider to
/// the result of [`settle`], with any [`View`].
///
/// # Errors
/// [`NoReadDepth`] if a resulting depth is zero.
pub fn answer(local: IrdOrd, peer: IrdOrd, view: View) -> Result<IrdOrd, NoReadDepth> {
    let settled = settle(local, peer)?;
    Ok(match view {
        View::Sender => settled,
        View::Requester => settled.exchanged(),
    })
}

/// The depths to set at the requester's provider after a reply with the header `answer` (6.2).
///
/// # Errors
/// [`NoReadDepth`] if a resulting depth is zero.
pub fn adopt(local: IrdOrd, answer: IrdOrd, view: View) -> Result<IrdOrd, NoReadDepth> {
    let acceptor = match view {
        View::Sender => answer,
        View::Requester => answer.exchanged(),
    };
    settle(local, acceptor)
}
