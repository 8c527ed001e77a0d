//! What a client has to say.

use smbd_core::Instant;

use super::ids::{BufferId, OperationId, RegistrationId, SessionHandle, TreeHandle};
use super::negotiate::Negotiated;
use super::reason::{Discarded, Failure, Reason};
use crate::wire::{
    ErrorResponse, LeaseBreakNotification, NtStatus, OplockBreak, Response, TreeConnectResponse,
};

/// What [`Client::poll`](super::Client::poll) says.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Output<'a> {
    /// The dialect is negotiated; operations are possible from now on.
    Negotiated(Negotiated),
    /// This message goes to the server, as one, in this order.
    Send {
        /// The message, in two pieces; the second may be empty.
        message: [&'a [u8]; 2],
        /// How many registrations' tokens the server is asked to invalidate with its answers.
        invalidations: u16,
    },
    /// Data of a WRITE are to be signed before their part of a buffer is registered: [`Client::sign`](super::Client::sign). They stay as
    /// they are until the result of the operation.
    Sign(DataPart),
    /// Data of a WRITE are to be encrypted before they are registered: in place by [`Client::encrypt`](super::Client::encrypt), or to
    /// memory of the caller's by [`Client::encrypt_into`](super::Client::encrypt_into), which it registers in the place of the buffer
    /// then. What is encrypted stays as it is until the result of the operation: it may be registered again.
    Encrypt(DataPart),
    /// The server may use a part of a buffer, once [`Client::registered`](super::Client::registered) has its descriptors.
    Register {
        /// The registration.
        registration: RegistrationId,
        /// The buffer.
        buffer: BufferId,
        /// Where in the buffer, in bytes.
        offset: u64,
        /// Its length in bytes.
        len: u32,
        /// Whether the server writes to it, for a READ, or reads from it, for a WRITE.
        access: Access,
    },
    /// The server may use it no longer, once [`Client::deregistered`](super::Client::deregistered) says so.
    Deregister {
        /// The registration.
        registration: RegistrationId,
        /// Whether the server has invalidated all of its tokens: then nothing is left to be invalidated here (MS-SMBD 3.1.5.8).
        is_invalidated: bool,
    },
    /// The part of a buffer that a READ was to fill is to be looked at, by [`Client::check`](super::Client::check): the server can use it
    /// no longer. Until then nobody else looks at it. It comes before the result, also if that is a failure.
    Check(DataPart),
    /// Data of a READ that goes without the RDMA channel. They count only as far as its result says.
    Data {
        /// The operation.
        operation: OperationId,
        /// Where they belong, in bytes from the beginning of what is read.
        offset: u64,
        /// The data.
        data: &'a [u8],
    },
    /// An operation has ended. Its id names nothing any more.
    Done {
        /// The operation.
        operation: OperationId,
        /// What came of it.
        result: Result<Reply<'a>, Failure>,
        /// What the server says besides, if its answer is an error (2.2.2).
        error: Option<ErrorResponse<'a>>,
    },
    /// The server takes back an oplock (3.2.5.19.1). The caller knows its files, and acknowledges.
    OplockBreak(OplockBreak),
    /// The server takes back a lease (3.2.5.19.2).
    LeaseBreak(LeaseBreakNotification),
    /// The session has expired (3.2.5.1.6). Its requests wait for [`Client::reauthenticate`](super::Client::reauthenticate).
    SessionExpired(SessionHandle),
    /// The server does not know the session any more. It and its tree connects are gone; its operations fail.
    SessionEnded(SessionHandle),
    /// A part of a message was left alone.
    Discarded(Discarded),
    /// The transport connection is to be closed. Then [`Client::closed`](super::Client::closed) is called, and results follow.
    Close(Reason),
    /// There is nothing to do before something happens, or this time comes.
    Idle(Option<Instant>),
}

/// A part of a buffer, for which there is a registration or will be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPart {
    /// The registration.
    pub registration: RegistrationId,
    /// The buffer.
    pub buffer: BufferId,
    /// Where in the buffer, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u32,
}

/// What the server does with a registered buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads from it.
    RemoteRead,
    /// It writes to it.
    RemoteWrite,
}

/// What an operation gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reply<'a> {
    /// A user has logged in, or a session is bound to the connection.
    Session(SessionHandle),
    /// A session was authenticated again.
    Reauthenticated(SessionHandle),
    /// A session has ended.
    LoggedOff,
    /// A share is connected.
    Tree(TreeHandle, TreeConnectResponse),
    /// A share is disconnected.
    Disconnected,
    /// So many bytes were read, from the beginning on.
    Read(u64),
    /// So many bytes were written, from the beginning on.
    Written(u64),
    /// The answer to any other operation. Its body is that of the command.
    Answer(NtStatus, Response<'a>),
    /// The answer to a single message, from its header on.
    Message(&'a [u8]),
}
