//! Headers of captures for which there is no library: each with a parser and an encoder.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`bth`] | RoCEv2 transport headers | InfiniBand Architecture 1, chapter 9 and annex A17 |
//! | [`cm`] | connection management datagrams | InfiniBand Architecture 1, chapter 12 and annex A11 |
//! | [`icrc`] | the invariant CRC of RoCEv2 | annex A17 |
//! | [`mpa`] | iWARP connection frames and framing | RFC 5044, RFC 6581 |
//! | [`rdmap`] | iWARP data placement and operations | RFC 5041, RFC 5040 |
//! | [`pcapng`] | the file | draft-ietf-opsawg-pcapng |
//! | [`net`] | Ethernet, IPv4, IPv6, UDP, TCP frames | |

pub mod bth;
mod bytes;
pub mod cm;
pub mod icrc;
pub mod mpa;
pub mod net;
pub mod pcapng;
pub mod rdmap;

pub(crate) use bytes::{be16, be24, be32, be64, put};

/// A header that is longer than the bytes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{layer} needs {needed} bytes, the packet has {got}")]
pub struct Short {
    /// Name of the header.
    pub layer: &'static str,
    /// Bytes the header needs.
    pub needed: usize,
    /// Bytes there are.
    pub got: usize,
}

impl Short {
    /// The first `needed` bytes, or what is short.
    pub(crate) fn check<'a>(layer: &'static str, bytes: &'a [u8], needed: usize) -> Result<&'a [u8], Self> {
        bytes.get(..needed).ok_or(Self { layer, needed, got: bytes.len() })
    }
}

#[cfg(test)]
mod tests;
