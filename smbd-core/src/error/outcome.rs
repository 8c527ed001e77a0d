use thiserror::Error;

use super::Violation;
use crate::WrId;
use crate::wire::NtStatus;

/// Why an established connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it.
    #[error("closed by this side")]
    Local,
    /// The peer closed it in order (3.1.7.1).
    #[error("closed by the peer (3.1.7.1)")]
    PeerClosed,
    /// It ended in any other way (3.1.7.1).
    #[error("connection lost: {reason} (3.1.7.1)")]
    Lost {
        /// What the backend knows of it; [`Unknown`](DisconnectReason::Unknown) if it flushed work before it knew more.
        reason: DisconnectReason,
    },
    /// The peer broke a rule.
    #[error("peer broke the protocol: {0}")]
    Violation(Violation),
    /// Nothing came from the peer within the answer timeout (3.1.6.2).
    #[error("no answer to the keepalive (3.1.6.2)")]
    KeepaliveTimeout,
    /// A queued message waited too long for a send credit.
    #[error("no send credit from the peer in time")]
    CreditStall,
    /// A posted piece of work failed.
    #[error("{id} failed: {error}")]
    Transport {
        /// The work.
        id: WrId,
        /// What went wrong.
        error: WorkError,
    },
}

/// Why a connection was never established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// This side closed it first.
    #[error("closed by this side before negotiation ended")]
    Local,
    /// The transport connection did not come up.
    #[error("transport connection failed: {0}")]
    Connect(ConnectReason),
    /// The peer closed it in order during negotiation (3.1.7.1).
    #[error("closed by the peer during negotiation (3.1.7.1)")]
    PeerClosed,
    /// It ended in any other way during negotiation (3.1.7.1).
    #[error("connection lost during negotiation: {reason} (3.1.7.1)")]
    Lost {
        /// What the backend knows of it; [`Unknown`](DisconnectReason::Unknown) if it flushed work before it knew more.
        reason: DisconnectReason,
    },
    /// The negotiation timer expired (3.1.6.1).
    #[error("negotiation took too long (3.1.6.1)")]
    Timeout,
    /// The acceptor refused with a status (3.1.5.7).
    #[error("negotiation refused by the peer with {status} (3.1.5.7)")]
    Rejected {
        /// Its Status field.
        status: NtStatus,
    },
    /// This acceptor refused with a status (3.1.5.6).
    #[error("negotiation refused with {status}: {violation}")]
    RejectedPeer {
        /// The Status sent.
        status: NtStatus,
        /// The reason.
        violation: Violation,
    },
    /// The peer broke a rule.
    #[error("peer broke the protocol: {0}")]
    Violation(Violation),
    /// A posted piece of work failed.
    #[error("{id} failed: {error}")]
    Transport {
        /// The work.
        id: WrId,
        /// What went wrong.
        error: WorkError,
    },
}

/// Why a transport connection did not come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ConnectReason {
    /// The peer, or nobody listening there, said no.
    #[error("refused")]
    Refused,
    /// No route or no RDMA device for the address.
    #[error("unreachable")]
    Unreachable,
    /// No answer in the transport's own time.
    #[error("timed out")]
    TimedOut,
    /// The connection cannot have an RDMA Read depth of at least 1 (6.2).
    #[error("RDMA read depth is zero (6.2)")]
    ReadDepth,
    /// Anything else, as an error number of the transport.
    #[error("transport error {0}")]
    Other(i32),
}

/// What a backend knows of why a transport connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum DisconnectReason {
    /// This side disconnected: the answer to [`Action::Disconnect`](crate::Action::Disconnect).
    #[error("closed by this side")]
    Local,
    /// The peer disconnected in order. Some systems do so for a program that was killed.
    #[error("closed by the peer")]
    PeerClosed,
    /// The peer aborted it: a reset, or a Terminate message of iWARP (RFC 5040, 4.8).
    #[error("aborted by the peer")]
    PeerAborted,
    /// The peer did not answer: retries or a time are used up.
    #[error("no answer from the peer")]
    Unreachable,
    /// The device of this side ended it: it was removed, or something on it failed.
    #[error("ended by the device of this side")]
    DeviceFailed,
    /// The transport does not tell.
    #[error("reason unknown")]
    Unknown,
}

/// How a piece of work failed. Names are those of verbs completion statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The transport did not take it.
    #[error("refused when posted (error {errno})")]
    PostFailed {
        /// Its error number, 0 if it has none.
        errno: i32,
    },
    /// Not carried out, because the connection ended or earlier work failed.
    #[error("flushed")]
    Flushed,
    /// The peer had no receive posted.
    #[error("receiver not ready")]
    ReceiverNotReady,
    /// The peer did not answer.
    #[error("retries exceeded")]
    RetryExceeded,
    /// The peer's memory may not be accessed like that.
    #[error("remote access error")]
    RemoteAccess,
    /// The peer could not take the message.
    #[error("remote operation error")]
    RemoteOperation,
    /// The peer refused the request as invalid.
    #[error("remote invalid request")]
    RemoteInvalidRequest,
    /// A message or a buffer of the wrong length.
    #[error("local length error")]
    LocalLength,
    /// Local memory may not be accessed like that.
    #[error("local protection error")]
    LocalProtection,
    /// The local queue pair is broken.
    #[error("local queue pair operation error")]
    LocalOperation,
    /// Anything else, as a status of the transport.
    #[error("transport status {0}")]
    Other(u32),
}
