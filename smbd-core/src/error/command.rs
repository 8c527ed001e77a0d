use thiserror::Error;

use super::WorkError;
use crate::{Token, WrId};

/// The caller broke the contract of the interface. The call changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// A completion of work that is not outstanding: reported twice, or never posted.
    #[error("{0} is not outstanding")]
    UnknownWork(WrId),
    /// An input that is not possible in this phase.
    #[error("{input} makes no sense in phase {phase}")]
    WrongPhase {
        /// The input.
        input: &'static str,
        /// The phase.
        phase: &'static str,
    },
    /// `Received` with a head that is neither the first 32 bytes of the message nor all of a shorter one.
    #[error("head of {head} bytes for a message of {len} bytes: it must hold the first 32 or all")]
    HeadLength {
        /// Length of the head in bytes.
        head: u32,
        /// Length of the message in bytes.
        len: u32,
    },
    /// `Connected` with limits below what every connection needs.
    #[error("limit {field} is {got}, at least {needed} needed")]
    Limits {
        /// The field of [`Limits`](crate::Limits).
        field: &'static str,
        /// Its value.
        got: u32,
        /// Its smallest valid value.
        needed: u32,
    },
    /// `Registered` with no segment, or more than were reserved.
    #[error("{got} segments reported, 1 to {max} allowed")]
    SegmentCount {
        /// Segments reported.
        got: u64,
        /// Segments that the command reserved.
        max: u16,
    },
    /// `Registered` with a token that is valid in another registration of this connection.
    #[error("token 0x{:08x} is valid in another registration", .0.0)]
    TokenInUse(Token),
    /// `Registered` with a segment that is empty or wraps around the address space.
    #[error("segment at 0x{offset:x} with {len} bytes is empty or wraps around")]
    Segment {
        /// Its Offset.
        offset: u64,
        /// Its Length in bytes.
        len: u32,
    },
    /// `release` of a fragment of another connection.
    #[error("the fragment does not belong to this connection")]
    ForeignFragment,
}

/// A command was refused because of the phase, or because there is no room. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Negotiation has not ended yet.
    #[error("the connection is not established yet")]
    NotEstablished,
    /// The connection is closing or closed.
    #[error("the connection is closing")]
    Closing,
    /// All slots for such commands are in use. For `send` and `rdma`, [`Event::Writable`](crate::Event::Writable)
    /// reports when one is free.
    #[error("no room: {what} are taken")]
    NoRoom {
        /// The slots that are all in use.
        what: &'static str,
    },
}

/// `send` was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// Refused for a reason that all commands have in common.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The length is 0; an upper-layer message has at least 1 byte (TX-5).
    #[error("an empty message cannot be sent")]
    Empty,
    /// Longer than the peer can reassemble (3.1.4.2).
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
    /// Refused for a reason that all commands have in common.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Longer than negotiated (MR-2). A MaxReadWriteSize of 0 means that the peer offers no RDMA.
    #[error("operation of {len} bytes is above MaxReadWriteSize {max}")]
    TooLong {
        /// Length of the operation in bytes.
        len: u32,
        /// Connection.MaxReadWriteSize, in bytes.
        max: u32,
    },
    /// The range is not inside the descriptors (3.1.4.5, 3.1.4.6).
    #[error("bytes {offset} to {offset} + {len} are beyond the descriptors' {total} bytes (3.1.4.5)")]
    BeyondDescriptors {
        /// Offset into the peer's buffer, in bytes.
        offset: u64,
        /// Length of the operation in bytes.
        len: u32,
        /// Sum of the lengths of the descriptors, in bytes.
        total: u64,
    },
    /// A descriptor wraps around the peer's address space (2.2.3.1).
    #[error("descriptor {index} (Offset 0x{offset:x}, Length {len}) wraps around (2.2.3.1)")]
    DescriptorWraps {
        /// Index of the descriptor.
        index: u64,
        /// Its Offset.
        offset: u64,
        /// Its Length in bytes.
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
    /// Refused for a reason that all commands have in common.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The number of segments is 0, or more than the send queue and the configuration have room for.
    #[error("{segments} segments, 1 to {max} are possible")]
    Segments {
        /// Segments requested.
        segments: u16,
        /// Most segments that are possible.
        max: u16,
    },
    /// `deregister` of an id that is not a valid registration.
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
    /// The provider refused. A failed registration gives the peer no access (3.1.4.3).
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The connection ended first. All remote access ended with it.
    #[error(transparent)]
    Aborted(#[from] Aborted),
}

impl RegistrationError {
    /// A flush only says that the connection ended.
    pub(crate) fn ended_by(error: WorkError) -> Self {
        if error == WorkError::Flushed { Aborted.into() } else { error.into() }
    }
}

/// Why a probe measured no round-trip time.
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
