//! Why a connection ends.

use thiserror::Error;

use crate::security::SecurityError;
use crate::wire::{Command, WireError};

/// Why the server ends a connection. Nothing more is sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// The driver said that the connection is over.
    #[error("the connection was closed")]
    Closed,
    /// A transfer by RDMA failed, and with it the queue pair.
    #[error("a transfer by RDMA failed")]
    RdmaFailed,
    /// A header cannot be read, so neither can what follows it.
    #[error("{0} (3.3.5.2.6)")]
    Malformed(#[from] WireError),
    /// The message is none of SMB2.
    #[error("ProtocolId is none of SMB2 (3.3.5.2)")]
    Protocol,
    /// A compressed message came, and no algorithm was negotiated.
    #[error("a compressed message came, and compression was not negotiated (3.3.5.2.1.2)")]
    Compressed,
    /// The message is longer than one can be.
    #[error("a message has {len} bytes, and can have {max} at most (3.3.5.2)")]
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// There are more requests in a compound than the configuration allows.
    #[error("a compound has more than {max} requests (3.3.5.2.7)")]
    CompoundTooLong {
        /// The limit.
        max: usize,
    },
    /// The command is none of 2.2.1.2, or none of a client.
    #[error("the command is {0} (3.3.5.2.6)")]
    UnknownCommand(Command),
    /// A request came before NEGOTIATE, or a NEGOTIATE after it.
    #[error("{0} came out of order (3.3.5.2.2, 3.3.5.4)")]
    OutOfOrder(Command),
    /// A client of SMB1 offers nothing that the server has.
    #[error("a client of SMB1 does not offer SMB 2.??? (3.3.5.3)")]
    NoDialect,
    /// A MessageId is used twice, or was never granted.
    #[error("{count} message ids from {message_id} on are not all in the window (3.3.5.2.3)")]
    Sequence {
        /// MessageId.
        message_id: u64,
        /// How many ids the request uses.
        count: u64,
    },
    /// An encrypted message names a session that has no keys.
    #[error("an encrypted message names session {session_id}, which has no keys (3.3.5.2.1.1)")]
    NoKeys {
        /// SessionId of the header of 2.2.41.
        session_id: u64,
    },
    /// An encrypted message is not what was encrypted, or what is in it is of another session.
    #[error("{0}")]
    Security(#[from] SecurityError),
    /// The first request in an encrypted message is not one of the session that encrypted it.
    #[error("an encrypted message holds a request of another session (3.3.5.2.1.1)")]
    OtherSession,
    /// A TREE_CONNECT of 3.1.1 is neither signed nor encrypted.
    #[error("a TREE_CONNECT is neither signed nor encrypted (3.3.5.7)")]
    UnprotectedTreeConnect,
    /// What VALIDATE_NEGOTIATE_INFO says is not what NEGOTIATE said: somebody changed it on the way.
    #[error("FSCTL_VALIDATE_NEGOTIATE_INFO: {field} differs (3.3.5.15.12)")]
    Tampered {
        /// What differs.
        field: &'static str,
    },
    /// Somebody else has answered NEGOTIATE otherwise than it would have been answered here, or has granted other credits than there are:
    /// the client goes by what it was told.
    #[error("somebody else has answered this client, and otherwise than here")]
    OtherAnswer,
    /// Nobody logged in in time.
    #[error("nobody logged in in time")]
    SetupTimeout,
}
