use smbd_core::error::{CloseReason, ConnectError};
use thiserror::Error;

use crate::exercise::{Failure, Malformed, Report};

/// Why a load did not end well.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// There was no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended early.
    #[error(transparent)]
    Closed(#[from] CloseReason),
    /// The connection allows no operation like that.
    #[error("--size {size}: {what} is {max}")]
    Size {
        /// Bytes of one operation.
        size: u32,
        /// What limits it.
        what: &'static str,
        /// Most that is allowed.
        max: u64,
    },
    /// Fewer operations can be under way.
    #[error("--depth {depth}: {what} is {max}")]
    Depth {
        /// Operations to be kept under way.
        depth: u16,
        /// What limits it.
        what: &'static str,
        /// Most that is allowed.
        max: u64,
    },
    /// The server refused a request.
    #[error("the server refused: {0}")]
    Refused(#[from] Failure),
    /// The peer does not know the protocol.
    #[error("the peer is no smbd-echo: {0}")]
    NotOurs(#[from] Malformed),
    /// An answer to another question.
    #[error("the peer gave an answer that was not asked for: {0}")]
    Answer(String),
    /// An ordinary message that nobody asked for.
    #[error("the peer sent a message of {len} bytes that was not asked for")]
    Unexpected {
        /// Its length.
        len: usize,
    },
    /// What the server counted is not what was sent.
    #[error("sent {sent:?}, but the server counted {counted:?}")]
    Report {
        /// As sent.
        sent: Report,
        /// As counted.
        counted: Report,
    },
    /// Bytes moved by RDMA are not what they should be.
    #[error("{0}")]
    Content(&'static str),
    /// A command was refused or an operation failed.
    #[error("{0}")]
    Command(String),
}
