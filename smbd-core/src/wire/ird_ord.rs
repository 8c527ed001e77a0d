//! IRD/ORD Negotiate Header (6): how many RDMA Reads may be under way, told in the private data of an iWARP
//! connection whose provider cannot settle it by itself.
//!
//! Section 6 leaves two things open. The byte order is not stated: network order is written, and a header
//! that only makes sense in little-endian order is read that way, because old Linux clients send it.
//! And 6.2 fills the answer in from the requester's point of view although 6.1 defines the fields as the
//! sender's own: [`View`] selects. Both differ on the wire only if the peers' depths do.
//!
//! Only for iWARP: InfiniBand and RoCE pad private data with zeros, which read like depths of zero here. And a peer on
//! iWARP may well send none; then the provider's own values stand.

use thiserror::Error;

use super::WireError;
use super::layout::layout;
use super::words::{words, words_mut};

layout! { "IRD/ORD Negotiate Header", "6.1":
    IRD = "IRD" at 0..4;
    ORD = "ORD" at 4..8;
}

/// The largest depth told to a peer: a larger one could be taken for a small one in the other byte order.
pub const MAX_DEPTH: u32 = 0xFFFF;

/// Read depths of one peer: a header, or what a provider is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IrdOrd {
    /// Incoming: RDMA Reads of the peer that may be under way.
    pub ird: u32,
    /// Outgoing: own RDMA Reads that may be under way.
    pub ord: u32,
}

/// The byte order a header was found to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Network order, as written here.
    Big,
    /// The order of old Linux clients.
    LegacyLittle,
}

/// Whose depths the header of an answer tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Those of the acceptor, who sends it (6.1). Linux does this.
    #[default]
    Sender,
    /// Those the requester is to set (6.2 literally).
    Requester,
}

/// A settled depth is zero, so the connection has to be rejected (6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "read depth settles at zero: local IRD {} and ORD {}, peer IRD {} and ORD {} (6.2)",
    .local.ird, .local.ord, .peer.ird, .peer.ord
)]
pub struct NoReadDepth {
    /// What the local provider can do.
    pub local: IrdOrd,
    /// What the peer told of itself.
    pub peer: IrdOrd,
}

impl IrdOrd {
    /// Size of the header in bytes.
    pub const LEN: usize = 8;

    /// Reads the header at the beginning of `bytes`; what follows it is ignored.
    ///
    /// The header is taken as little-endian if in network order a value is above [`MAX_DEPTH`] and in
    /// little-endian order none is: no provider has such a depth.
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

    /// Writes the header in network order to the beginning of `out` and returns its size.
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

/// The header of a connection request from a provider with the depths `local`. Zero is not allowed on the
/// wire (6.1), so a side that issues or serves no reads says 1; none says more than [`MAX_DEPTH`].
#[must_use]
pub fn offer(local: IrdOrd) -> IrdOrd {
    IrdOrd { ird: local.ird.clamp(1, MAX_DEPTH), ord: local.ord.clamp(1, MAX_DEPTH) }
}

/// What to set the local provider to, `peer` being the depths of the other side: neither side issues more
/// reads than the other serves (6.2), and neither more than [`MAX_DEPTH`].
///
/// # Errors
/// [`NoReadDepth`] if a depth comes out as zero.
pub fn settle(local: IrdOrd, peer: IrdOrd) -> Result<IrdOrd, NoReadDepth> {
    let settled =
        IrdOrd { ird: local.ird.min(peer.ord).min(MAX_DEPTH), ord: local.ord.min(peer.ird).min(MAX_DEPTH) };
    if settled.ird == 0 || settled.ord == 0 { Err(NoReadDepth { local, peer }) } else { Ok(settled) }
}

/// The header of the acceptor's reply to a request with the header `peer` (6.2). The acceptor's own
/// provider is set by [`settle`] whatever the view.
///
/// # Errors
/// [`NoReadDepth`] if a depth comes out as zero.
pub fn answer(local: IrdOrd, peer: IrdOrd, view: View) -> Result<IrdOrd, NoReadDepth> {
    let settled = settle(local, peer)?;
    Ok(match view {
        View::Sender => settled,
        View::Requester => settled.exchanged(),
    })
}

/// What the requester sets its provider to after a reply with the header `answer` (6.2).
///
/// # Errors
/// [`NoReadDepth`] if a depth comes out as zero.
pub fn adopt(local: IrdOrd, answer: IrdOrd, view: View) -> Result<IrdOrd, NoReadDepth> {
    let acceptor = match view {
        View::Sender => answer,
        View::Requester => answer.exchanged(),
    };
    settle(local, acceptor)
}
