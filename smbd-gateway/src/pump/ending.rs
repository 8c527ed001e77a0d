use std::time::Duration;

use smbd_core::backend::OutOfMemory;
use smbd_smb2::relay::{Misuse, Reason, Side};
use thiserror::Error;

/// Why a connection through the gateway ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Ending {
    /// The client's connection has ended or failed.
    #[error("the client's connection has ended: {0}")]
    Client(String),
    /// The server's connection has ended or failed.
    #[error("the server's connection failed: {0}")]
    Server(String),
    /// The relay ended it.
    #[error(transparent)]
    Relay(Reason),
    /// No SESSION_SETUP was successful in time.
    #[error("no SESSION_SETUP was successful within {} s", .within.as_secs_f64())]
    NoSession {
        /// The limit.
        within: Duration,
    },
    /// The client uses RDMA without a session (MS-SMB2 3.3.5.2.9).
    #[error("a READ or WRITE has an RDMA channel, and no SESSION_SETUP was successful (MS-SMB2 3.3.5.2.9)")]
    RdmaWithoutSession,
    /// No memory for a buffer.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// A fault of this program.
    #[error("fault of smbd-gateway: {0}")]
    Misuse(#[from] Misuse),
    /// A fault of this program.
    #[error("fault of smbd-gateway: {0}")]
    Range(#[from] smbd_core::backend::OutOfRange),
    /// The gateway stops, and no request waited for its answer.
    #[error("the gateway stops")]
    Stopped,
    /// The gateway stops, and a request still waited for its answer at the deadline.
    #[error("the gateway stops, and the connection was still busy after {} s", .within.as_secs_f64())]
    Deadline {
        /// How long it was waited for.
        within: Duration,
    },
}

impl Ending {
    /// The connection of this side has ended or failed.
    pub(super) fn of(side: Side, why: String) -> Self {
        match side {
            Side::Client => Self::Client(why),
            Side::Server => Self::Server(why),
        }
    }
}
