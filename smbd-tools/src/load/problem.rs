use smbd_core::error::{CloseReason, ConnectError};
use thiserror::Error;

use crate::exercise::{Failure, Malformed, Report};

/// Why a load failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// The connection was not established.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended early.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The connection does not allow operations of this size.
    #[error("--size {size}: {what} is {max}")]
    Size {
        /// Bytes of one operation.
        size: u32,
        /// The limit.
        what: &'static str,
        /// The value of the limit, in bytes.
        max: u64,
    },
    /// The connection does not allow this number of operations under way.
    #[error("--depth {depth}: {what} is {max}")]
    Depth {
        /// Operations of the plan.
        depth: u16,
        /// The limit.
        what: &'static str,
        /// The value of the limit.
        max: u64,
    },
    /// The server refused a request.
    #[error("the server refused: {0}")]
    Refused(#[from] Failure),
    /// The peer does not know the protocol.
    #[error("the peer is no smbd-echo: {0}")]
    NotOurs(#[from] Malformed),
    /// An answer to another request.
    #[error("the peer gave an answer that was not asked for: {0}")]
    Answer(String),
    /// An ordinary message that was not requested.
    #[error("the peer sent a message of {len} bytes that was not asked for")]
    Unexpected {
        /// Its length in bytes.
        len: usize,
    },
    /// The counts of the server differ from those of the client.
    #[error("sent {sent:?}, but the server counted {counted:?}")]
    Report {
        /// The counts of the client.
        sent: Report,
        /// The counts of the server.
        counted: Report,
    },
    /// RDMA transferred wrong bytes.
    #[error("{0}")]
    Content(&'static str),
    /// A command was refused or an operation failed.
    #[error("{0}")]
    Command(String),
}
