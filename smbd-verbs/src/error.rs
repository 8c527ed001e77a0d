//! Errors of calls of this crate. The events of a connection report why it ended.

use std::net::SocketAddr;

use rustix::io::Errno;
use thiserror::Error;

use crate::CallError;

/// A call of a connection, a listener or an engine failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A call of libibverbs or librdmacm failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A system call failed.
    #[error("{call}: {errno} (error {})", .errno.raw_os_error())]
    System {
        /// The name of the call.
        call: &'static str,
        /// Its error number.
        errno: Errno,
    },
    /// No RDMA device has the address.
    #[error("{address} belongs to no RDMA device; `rdma link` lists the devices of this host")]
    NoDevice {
        /// The address.
        address: SocketAddr,
    },
    /// The device cannot carry a connection of this configuration.
    #[error("device {device} gives {has} {what}, the configuration needs {needs}; lower {field}")]
    DeviceTooSmall {
        /// The name of the device.
        device: String,
        /// The resource of which the device has too little.
        what: &'static str,
        /// How much the device has.
        has: u64,
        /// How much the configuration needs.
        needs: u64,
        /// The field of [`Params`](smbd_core::Params) to lower.
        field: &'static str,
    },
    /// The negotiated RDMA Read depth would be zero. The connection request was rejected (6.2).
    #[error("{peer} offers an RDMA Read depth of zero (6.2)")]
    ReadDepth {
        /// The address of the peer.
        peer: SocketAddr,
    },
}

impl Error {
    pub(crate) const fn system(call: &'static str, errno: Errno) -> Self {
        Self::System { call, errno }
    }
}
