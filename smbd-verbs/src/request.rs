//! A connection request, and the reasons to reject it.

use std::fmt;
use std::net::SocketAddr;

use crate::depth::Told;
use crate::ffi::CmId;

/// Why a connection request was rejected. The initiator gets the text as private data of the reject
/// ([`VerbsConnection::reject_data`](crate::VerbsConnection::reject_data)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// The listener has too many connections ([`ListenOptions`](crate::ListenOptions)), pending or altogether.
    Busy,
    /// The host of the initiator has too many connections ([`ListenOptions::max_per_host`](crate::ListenOptions)).
    BusyWithHost,
    /// SMB Direct has another port on this type of link ([`port_of`](crate::port_of)).
    WrongPort,
    /// The negotiated RDMA Read depth would be zero (6.2).
    ReadDepth,
    /// The device refused the receive for the first message.
    NoReceive,
    /// The upper layer does not accept it.
    Unwanted,
}

impl RejectReason {
    /// The text that is sent, in ASCII.
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
