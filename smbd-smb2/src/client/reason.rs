//! Why a connection, a session or an operation ends, and why a call or a message is refused.

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use thiserror::Error;

use super::bind_error::BindError;
use super::negotiate::NegotiateError;
use super::replay_error::NotReplayable;
use super::transform_error::TransformError;
use crate::security::{AuthError, SecurityError};
use crate::wire::{Command, MessageId, NtStatus, SessionId, WireError};

/// Why the connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// The caller has said so.
    #[error("the transport connection has ended")]
    TransportEnded,
    /// A message cannot be cut into its elements, or the header of one cannot be read.
    #[error("a message is broken: {0}")]
    Wire(#[from] WireError),
    /// The first four bytes are not those of a message of SMB2 (3.2.5.1).
    #[error("ProtocolId is {got:02x?}, expected fe or fd and SMB (3.2.5.1)")]
    ProtocolId {
        /// What they are, as far as there are any.
        got: [u8; 4],
    },
    /// A compressed message, and compression was not negotiated (3.2.5.1.1.2).
    #[error("a message is compressed, and no algorithm was negotiated (3.2.5.1.1.2)")]
    Compressed,
    /// Something other than an SMB2 message within an encrypted one (3.2.5.1.1.1).
    #[error("ProtocolId within an encrypted message is {got:02x?}, expected fe and SMB (3.2.5.1.1.1)")]
    Nested {
        /// The first four bytes, as far as there are any.
        got: [u8; 4],
    },
    /// A message is encrypted for a session that is not there or has no keys (3.2.5.1.1.1).
    #[error("SessionId of an encrypted message is {session_id}, which is no session with keys (3.2.5.1.1.1)")]
    UnknownSession {
        /// SessionId of the transform header.
        session_id: SessionId,
    },
    /// An element in an encrypted message is of another session (3.2.5.1.1.1).
    #[error("SessionId is {got}, and the message is encrypted for {expected} (3.2.5.1.1.1)")]
    OtherSession {
        /// SessionId of the element.
        got: SessionId,
        /// SessionId of the transform header.
        expected: SessionId,
    },
    /// A message cannot be decrypted, or one cannot be signed or encrypted any more.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// A server sends a request.
    #[error("{message_id}: {command} comes without SERVER_TO_REDIR in Flags (2.2.1.2)")]
    Request {
        /// Its command.
        command: Command,
        /// Its MessageId.
        message_id: MessageId,
    },
    /// The command of an answer is not that of its request (3.2.5.1.8).
    #[error("{message_id}: Command is {got}, and the request's was {expected} (3.2.5.1.8)")]
    Command {
        /// The MessageId.
        message_id: MessageId,
        /// The answer's command.
        got: Command,
        /// The request's.
        expected: Command,
    },
    /// An answer has to be signed, and is not, or wrongly (3.2.5.1.3).
    #[error(
        "{message_id}: the answer to a signed {command} has a wrong signature, or none (3.2.5.1.3){}",
        Unverified(*.status)
    )]
    Signature {
        /// The MessageId.
        message_id: MessageId,
        /// The command.
        command: Command,
        /// The status of the answer, of which nothing is sure.
        status: NtStatus,
    },
    /// The answer to an encrypted request is not encrypted with the keys of its session (3.2.5.1.1.1, 3.3.4.1.4).
    #[error(
        "{message_id}: the answer to an encrypted {command} is not encrypted for its session (3.3.4.1.4)"
    )]
    NotEncrypted {
        /// The MessageId.
        message_id: MessageId,
        /// The command.
        command: Command,
    },
    /// STATUS_PENDING without an AsyncId (3.2.5.1.5).
    #[error("{message_id}: Status is STATUS_PENDING without ASYNC_COMMAND in Flags (3.2.5.1.5)")]
    PendingWithoutAsyncId {
        /// The MessageId.
        message_id: MessageId,
    },
    /// The answer to NEGOTIATE is not one to go on with (3.2.5.2).
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
    /// The server let a user in as a guest or as nobody, and that is not allowed (3.2.5.3.1).
    #[error("SessionFlags is 0x{flags:04x}: a guest or nobody, which is not allowed here (3.2.5.3.1)")]
    Guest {
        /// SessionFlags.
        flags: u16,
    },
    /// The server does not confirm what was negotiated: somebody may have changed it on the way (3.2.5.14.12).
    #[error("VALIDATE_NEGOTIATE_INFO: {field} is another than in the answer to NEGOTIATE (3.2.5.14.12)")]
    Validation {
        /// What is different, or how it was answered.
        field: &'static str,
    },
    /// The server has taken all credits: no request can follow (3.3.1.2).
    #[error("no credit is left, and no answer that could bring one is awaited (3.3.1.2)")]
    NoCredits,
    /// The server has not answered NEGOTIATE within [`Params::timeout`](super::Params::timeout) (3.2.6.1).
    #[error("NEGOTIATE: no answer within {0:?} (3.2.6.1)")]
    NotNegotiated(Duration),
    /// Nothing came from the server for so long, an answer to ECHO included.
    #[error("no message came from the server for {0:?}")]
    Silent(Duration),
}

/// What an answer says that cannot be trusted, if it is no success.
struct Unverified(NtStatus);

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            NtStatus::SUCCESS => Ok(()),
            status => write!(f, "; it says {status}, which nothing verifies"),
        }
    }
}

/// What ends the connection, while it is on its way to those who are told: boxed, because it is large and rare.
#[derive(Debug)]
pub(super) struct Fatal(pub(super) Box<Reason>);

impl<T: Into<Reason>> From<T> for Fatal {
    #[cold]
    fn from(reason: T) -> Self {
        Self(Box::new(reason.into()))
    }
}

/// Why an operation fails.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server refuses it.
    #[error("the server answers {0}")]
    Status(NtStatus),
    /// Its answer cannot be read (3.2.5.1.7).
    #[error("the answer cannot be read: {0}")]
    Malformed(#[from] WireError),
    /// A number in its answer is larger than what was asked for.
    #[error("{field} is {got}, and {max} were asked for ({section})")]
    TooMuch {
        /// The field.
        field: &'static str,
        /// Its value.
        got: u64,
        /// The largest valid value.
        max: u64,
        /// The section.
        section: &'static str,
    },
    /// The answer to a READ with a channel has data of its own: it went round the channel, or only a part of it went (3.2.5.11).
    #[error("DataLength is {got} in the answer to a READ with a channel, expected 0 (3.2.5.11)")]
    InlineData {
        /// DataLength.
        got: u64,
    },
    /// The data of a READ that came by RDMA are not what they have to be, or nothing says that they are (3.2.5.11). They are not shown.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// It waited too long (3.2.6.1).
    #[error("there was no answer in time (3.2.6.1)")]
    TimedOut,
    /// It was cancelled before it was sent.
    #[error("it was cancelled before it was sent")]
    Cancelled,
    /// The caller could not register its buffer.
    #[error("the buffer could not be registered")]
    Registration,
    /// The server does not grant as many credits as it needs.
    #[error("it needs {needed} credits, and the server grants {available}")]
    Credits {
        /// What it needs.
        needed: u16,
        /// What there are.
        available: u64,
    },
    /// The authentication failed.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The keys of a session cannot be made, or its last answer is not signed as it has to be (3.2.5.3.1).
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The last answer to SESSION_SETUP is not signed (3.2.5.3.1).
    #[error("SIGNED is not set in Flags of the last answer to SESSION_SETUP (3.2.5.3.1)")]
    UnsignedSession,
    /// A session cannot be signed or encrypted as the configuration or the server requires it (3.2.5.3.1).
    #[error("{required} is required, and the session cannot have it (3.2.5.3.1)")]
    Unprotected {
        /// What is required.
        required: &'static str,
    },
    /// A session is bound as a guest's (3.2.5.3.3).
    #[error("SessionFlags is 0x{flags:04x}: a session is not bound as a guest's (3.2.5.3.3)")]
    GuestBinding {
        /// SessionFlags.
        flags: u16,
    },
    /// Its session has ended.
    #[error("its session has ended")]
    SessionEnded,
    /// The connection has ended, and nothing of it was sent before: the server has not carried it out.
    #[error("the connection has ended before it was sent")]
    Unsent,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
}

/// Why a call is refused. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// Before [`Output::Negotiated`](super::Output::Negotiated).
    #[error("the dialect has not been negotiated yet")]
    NotNegotiated,
    /// The connection has ended.
    #[error("the connection has ended")]
    Closed,
    /// There is no such session, tree connect, operation or registration any more, or it is not in a state for this.
    #[error("{0} is not there, or not in a state for this")]
    Unknown(&'static str),
    /// A table is full: more may go when an operation has ended.
    #[error("the table of {0} is full")]
    Full(&'static str),
    /// A length is above a limit of the server or of the transport.
    #[error("{field} is {value}, and can be {max} at most")]
    TooLong {
        /// Which.
        field: &'static str,
        /// Its value in bytes.
        value: u64,
        /// The largest possible value in bytes.
        max: u64,
    },
    /// A transfer would end beyond the largest offset of a file.
    #[error("the transfer ends beyond 2^64 - 1")]
    Offset,
    /// A WRITE has no data, and the RDMA channel is not allowed here (3.2.4.7).
    #[error("the data of a WRITE are not there, and the RDMA channel cannot be used for it (3.2.4.7)")]
    NoChannel,
    /// The descriptors of a registration are not as long as what was to be registered, or too many for a message.
    #[error("the descriptors have {got} bytes, and the registration has {expected}")]
    Descriptors {
        /// Their length.
        got: u64,
        /// What was to be registered.
        expected: u64,
    },
    /// What is given to be signed, encrypted or looked at is not as long as it has to be.
    #[error("{got} bytes are given, and {expected} are needed")]
    Length {
        /// What was given, in bytes.
        got: u64,
        /// What is needed.
        expected: u64,
    },
    /// This operation cannot be part of a compound.
    #[error("READ and WRITE with a channel, or in pieces, cannot be part of a compound")]
    Compound,
    /// A session cannot be bound to a connection.
    #[error(transparent)]
    Binding(#[from] BindError),
    /// It is not safe to submit an operation again.
    #[error(transparent)]
    NotReplayable(#[from] NotReplayable),
    /// The authentication cannot begin.
    #[error("the authentication cannot begin")]
    Authentication,
    /// A request cannot be written.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// Why an element of a message is left alone (3.2.5.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Discarded {
    /// There is no request with this MessageId that is not answered yet.
    #[error("MessageId is {0}, which is that of no request (3.2.5.1.2)")]
    UnknownMessageId(MessageId),
    /// It answers no request and is no OPLOCK_BREAK.
    #[error("MessageId is that of no request, and Command is {0}, expected OPLOCK_BREAK (3.2.5.1.2)")]
    Unsolicited(Command),
    /// A break that cannot be read.
    #[error("a break cannot be read: {0}")]
    Break(WireError),
    /// The answer to a request whose operation has ended, because it was too late for instance.
    #[error("{0}: its operation has ended before")]
    Late(MessageId),
}
