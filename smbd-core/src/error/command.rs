use thiserror::Error;

use super::WorkError;
use crate::{Token, WrId};

/// A call that makes no sense: the caller's fault. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A completion of work that is not outstanding: reported twice, or never posted.
    #[error("{0} is not outstanding")]
    UnknownWork(WrId),
    /// An input that cannot come now.
    #[error("{input} makes no sense in phase {phase}")]
    WrongPhase {
        /// The input.
        input: &'static str,
        /// The phase.
        phase: &'static str,
    },
    /// `Received` whose head is not the first bytes of the message.
    #[error("head of {head} bytes for a message of {len} bytes: it must hold the first 32 or all")]
    HeadLength {
        /// Length of the head.
        head: u32,
        /// Length of the message.
        len: u32,
    },
    /// Limits no connection can live with.
    #[error("limit {field} is {got}, at least {needed} needed")]
    Limits {
        /// The field of [`Limits`](crate::Limits).
        field: &'static str,
        /// What it was.
        got: u32,
        /// Its least value.
        needed: u32,
    },
    /// `Registered` with no segment, or more than were reserved.
    #[error("{got} segments reported, 1 to {max} allowed")]
    SegmentCount {
        /// How many.
        got: u64,
        /// How many were reserved.
        max: u16,
    },
    /// `Registered` with a token that is valid in another registration of this connection.
    #[error("token 0x{:08x} is valid in another registration", .0.0)]
    TokenInUse(Token),
    /// `Registered` with an empty segment, or one that wraps around the address space.
    #[error("segment at 0x{offset:x} with {len} bytes is empty or wraps around")]
    Segment {
        /// Its Offset.
        offset: u64,
        /// Its Length.
        len: u32,
    },
    /// A fragment of another connection was released here.
    #[error("the fragment does not belong to this connection")]
    ForeignFragment,
}

/// A command cannot be taken in the present phase or for want of room. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Negotiation has not ended yet.
    #[error("the connection is not established yet")]
    NotEstablished,
    /// The connection is closing or closed.
    #[error("the connection is closing")]
    Closing,
    /// All places for such commands are taken; `Writable` tells when there is room (for `send` and `rdma`).
    #[error("no room: {what} are taken")]
    NoRoom {
        /// What there is no more of.
        what: &'static str,
    },
}

/// `send` was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// Not now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// An upper-layer message has at least one byte (TX-5).
    #[error("an empty message cannot be sent")]
    Empty,
    /// Longer than the peer can put together (3.1.4.2).
    #[error("message of {len} bytes is above MaxFragmentedSendSize {max} (3.1.4.2)")]
    TooLong {
        /// Length of the message in bytes; `u32::MAX` for any that is longer.
        len: u32,
        /// Connection.MaxFragmentedSendSize, in bytes.
        max: u32,
    },
}

/// `rdma` was refused. Nothing has changed, nothing was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RdmaError {
    /// Not now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Longer than negotiated (MR-2). A limit of 0 means the peer offers no RDMA.
    #[error("operation of {len} bytes is above MaxReadWriteSize {max}")]
    TooLong {
        /// Length of the local buffer.
        len: u32,
        /// Connection.MaxReadWriteSize.
        max: u32,
    },
    /// The range is not inside the descriptors (3.1.4.5, 3.1.4.6).
    #[error("bytes {offset} to {offset} + {len} are beyond the descriptors' {total} bytes (3.1.4.5)")]
    BeyondDescriptors {
        /// Offset into the peer's buffer.
        offset: u64,
        /// Length of the local buffer.
        len: u32,
        /// Sum of the descriptors' lengths.
        total: u64,
    },
    /// A descriptor that wraps around the peer's address space.
    #[error("descriptor {index} (Offset 0x{offset:x}, Length {len}) wraps around (2.2.3.1)")]
    DescriptorWraps {
        /// Which descriptor.
        index: u64,
        /// Its Offset.
        offset: u64,
        /// Its Length.
        len: u32,
    },
    /// An RDMA Read on a connection with a read depth of 0.
    #[error("the connection allows no RDMA Read")]
    NoReadDepth,
}

/// `register` was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Not now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A registration has 1 to as many segments as the send queue and the configuration have room for.
    #[error("{segments} segments, 1 to {max} are possible")]
    Segments {
        /// Segments asked for.
        segments: u16,
        /// Most that are possible.
        max: u16,
    },
    /// `deregister` of what is not registered.
    #[error("there is no such valid registration")]
    NotRegistered,
}

/// The connection ended before the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the connection ended first")]
pub struct Aborted;

/// Why an accepted RDMA operation did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum OpError {
    /// One of its requests failed.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The connection ended first.
    #[error(transparent)]
    Aborted(#[from] Aborted),
}

impl OpError {
    /// A flush only says that the connection ended.
    pub(crate) fn ended_by(error: WorkError) -> Self {
        if error == WorkError::Flushed { Aborted.into() } else { error.into() }
    }
}

/// Why an accepted registration or deregistration did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The provider refused; of a failed registration nothing is enabled.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The connection ended first, and with it all remote access.
    #[error(transparent)]
    Aborted(#[from] Aborted),
}

impl RegistrationError {
    /// A flush only says that the connection ended.
    pub(crate) fn ended_by(error: WorkError) -> Self {
        if error == WorkError::Flushed { Aborted.into() } else { error.into() }
    }
}

/// Why a probe has no round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The peer sent nothing within the answer timeout. The connection goes on.
    #[error("the peer did not answer the probe in time")]
    Unanswered,
    /// The connection ended first.
    #[error(transparent)]
    Aborted(#[from] Aborted),
}
