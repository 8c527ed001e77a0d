//! A connection request, and why it may be refused.

use std::fmt;
use std::net::SocketAddr;

use crate::depth::Told;
use crate::ffi::CmId;

/// Why a request was refused. The initiator finds the text in the private data of the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// There are too many connections.
    Busy,
    /// The initiator's host has too many connections.
    BusyWithHost,
    /// SMB Direct is on another port for this kind of link.
    WrongPort,
    /// The RDMA Read depth would be zero (6.2).
    ReadDepth,
    /// The device took no receive for the first message.
    NoReceive,
    /// The upper layer does not want it.
    Unwanted,
}

impl RejectReason {
    /// The text sent.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Busy => "too many connections",
            Self::BusyWithHost => "too many connections of this host",
            Self::WrongPort => "wrong port for this kind of link",
            Self::ReadDepth => "read depth is zero (MS-SMBD 6.2)",
            Self::NoReceive => "no receive for the first message",
            Self::Unwanted => "not wanted",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What is left of a request once it is accepted.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: CmId,
    pub(crate) peer: SocketAddr,
    pub(crate) offer: Told,
}
