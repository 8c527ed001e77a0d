//! The connections that there are now.

use std::net::SocketAddr;

use smbd_daemon::live::Live;
use smbd_smb2::relay::Bytes;

use crate::report::Kind;

/// What log lines name of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The gateway's own port towards the server, by which the server's log knows the client.
    pub(crate) server_port: u16,
}

/// A connection as it was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) names: Names,
    pub(crate) kind: Kind,
    pub(crate) bytes: Bytes,
    /// Bytes that are allocated for its device and for RDMA.
    pub(crate) memory: u64,
}

/// All connections.
pub(crate) type Connections = Live<Connection>;

/// Bytes that are allocated for all of them.
pub(crate) fn memory(all: &Connections) -> u64 {
    all.list(|connection, _| connection.memory).into_iter().fold(0, u64::saturating_add)
}
