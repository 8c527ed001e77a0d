//! What can go wrong on this side of the interface. What becomes of a connection is told by its events instead.

use std::net::SocketAddr;

use rustix::io::Errno;
use thiserror::Error;

use crate::CallError;

/// A connection, a listener or an engine could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A call of libibverbs or librdmacm failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A system call failed.
    #[error("{call}: {errno} (error {})", .errno.raw_os_error())]
    System {
        /// Its name.
        call: &'static str,
        /// Why.
        errno: Errno,
    },
    /// The address belongs to no RDMA device.
    #[error("{address} belongs to no RDMA device; `rdma link` lists the devices of this host")]
    NoDevice {
        /// The address.
        address: SocketAddr,
    },
    /// The device cannot carry a connection of this configuration.
    #[error("device {device} gives {has} {what}, the configuration needs {needs}; lower {field}")]
    DeviceTooSmall {
        /// Its name.
        device: String,
        /// What there is too little of.
        what: &'static str,
        /// How much there is.
        has: u64,
        /// How much is needed.
        needs: u64,
        /// The field of [`Params`](smbd_core::Params) that decides.
        field: &'static str,
    },
    /// The peer's IRD/ORD header leaves no RDMA Read depth; the connection was rejected (6.2).
    #[error("{peer} offers an RDMA Read depth of zero (6.2)")]
    ReadDepth {
        /// The peer.
        peer: SocketAddr,
    },
}

impl Error {
    pub(crate) const fn system(call: &'static str, errno: Errno) -> Self {
        Self::System { call, errno }
    }
}
