use thiserror::Error;

use super::Violation;
use crate::WrId;
use crate::wire::NtStatus;

/// Why an established connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed the connection.
    #[error("closed by this side")]
    Local,
    /// The peer disconnected in order (3.1.7.1).
    #[error("closed by the peer (3.1.7.1)")]
    PeerClosed,
    /// The transport connection ended in another way (3.1.7.1).
    #[error("connection lost: {reason} (3.1.7.1)")]
    Lost {
        /// The reason that the backend reported; [`Unknown`](DisconnectReason::Unknown) if it reported flushed work
        /// first.
        reason: DisconnectReason,
    },
    /// The peer broke a rule of the protocol.
    #[error("peer broke the protocol: {0}")]
    Violation(Violation),
    /// The peer sent nothing within the answer timeout (3.1.6.2).
    #[error("no answer to the keepalive (3.1.6.2)")]
    KeepaliveTimeout,
    /// A queued message waited too long for a send credit.
    #[error("no send credit from the peer in time")]
    CreditStall,
    /// A work request failed.
    #[error("{id} failed: {error}")]
    Transport {
        /// The id of the work request.
        id: WrId,
        /// The cause.
        error: WorkError,
    },
}

/// Why a connection was never established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// This side closed the connection first.
    #[error("closed by this side before negotiation ended")]
    Local,
    /// The transport connection was not established.
    #[error("transport connection failed: {0}")]
    Connect(ConnectReason),
    /// The peer disconnected in order during negotiation (3.1.7.1).
    #[error("closed by the peer during negotiation (3.1.7.1)")]
    PeerClosed,
    /// The transport connection ended in another way during negotiation (3.1.7.1).
    #[error("connection lost during negotiation: {reason} (3.1.7.1)")]
    Lost {
        /// The reason that the backend reported; [`Unknown`](DisconnectReason::Unknown) if it reported flushed work
        /// first.
        reason: DisconnectReason,
    },
    /// The negotiation timer expired (3.1.6.1).
    #[error("negotiation took too long (3.1.6.1)")]
    Timeout,
    /// The acceptor rejected the negotiation with a status (3.1.5.7).
    #[error("negotiation refused by the peer with {status} (3.1.5.7)")]
    Rejected {
        /// Its Status field.
        status: NtStatus,
    },
    /// This acceptor rejected the negotiation with a status (3.1.5.6).
    #[error("negotiation refused with {status}: {violation}")]
    RejectedPeer {
        /// The Status field that it sent.
        status: NtStatus,
        /// The reason.
        violation: Violation,
    },
    /// The peer broke a rule of the protocol.
    #[error("peer broke the protocol: {0}")]
    Violation(Violation),
    /// A work request failed.
    #[error("{id} failed: {error}")]
    Transport {
        /// The id of the work request.
        id: WrId,
        /// The cause.
        error: WorkError,
    },
}

/// Why a transport connection was not established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ConnectReason {
    /// The peer rejected the request, or no program listens at the address.
    #[error("refused")]
    Refused,
    /// There is no route or no RDMA device for the address.
    #[error("unreachable")]
    Unreachable,
    /// The peer did not answer within the transport's own timeout.
    #[error("timed out")]
    TimedOut,
    /// The RDMA Read depth would be 0 (6.2).
    #[error("RDMA read depth is zero (6.2)")]
    ReadDepth,
    /// Another error, as an error number of the transport.
    #[error("transport error {0}")]
    Other(i32),
}

/// Why a transport connection ended, as the backend reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// This side disconnected: the answer to [`Action::Disconnect`](crate::Action::Disconnect).
    #[error("closed by this side")]
    Local,
    /// The peer disconnected in order. Some systems also do this for a program that was killed.
    #[error("closed by the peer")]
    PeerClosed,
    /// The peer aborted the connection: a reset, or a Terminate message of iWARP (RFC 5040, 4.8).
    #[error("aborted by the peer")]
    PeerAborted,
    /// The peer did not answer before the retries were used up or a timeout passed.
    #[error("no answer from the peer")]
    Unreachable,
    /// The device of this side ended the connection: it was removed or failed.
    #[error("ended by the device of this side")]
    DeviceFailed,
    /// The transport reports no reason.
    #[error("reason unknown")]
    Unknown,
}

/// How a work request failed. The names follow the completion statuses of verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Posting it failed.
    #[error("refused when posted (error {errno})")]
    PostFailed {
        /// The error number of the transport, 0 if there is none.
        errno: i32,
    },
    /// It was not carried out, because the connection ended or an earlier work request failed.
    #[error("flushed")]
    Flushed,
    /// The peer had no receive posted.
    #[error("receiver not ready")]
    ReceiverNotReady,
    /// The peer did not answer.
    #[error("retries exceeded")]
    RetryExceeded,
    /// The peer's memory does not allow this access.
    #[error("remote access error")]
    RemoteAccess,
    /// The peer could not complete the operation.
    #[error("remote operation error")]
    RemoteOperation,
    /// The peer refused the request as invalid.
    #[error("remote invalid request")]
    RemoteInvalidRequest,
    /// A message or a buffer has the wrong length.
    #[error("local length error")]
    LocalLength,
    /// The local memory does not allow this access.
    #[error("local protection error")]
    LocalProtection,
    /// The local queue pair reported an internal error.
    #[error("local queue pair operation error")]
    LocalOperation,
    /// Another status, as the number that the transport uses.
    #[error("transport status {0}")]
    Other(u32),
}
