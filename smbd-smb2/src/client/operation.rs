//! What a caller can have done.

use alloc::boxed::Box;

use bytes::Bytes;

use super::ids::{BufferId, SessionHandle, TreeHandle};
use super::login::Login;
use super::output::Reply;
use super::table::Key;
use super::transfer::Transfer;
use crate::wire::{
    ChangeNotifyRequest, CloseRequest, Command, CreateRequest, FileId, FlushRequest, IoctlRequest,
    LeaseBreakAcknowledgment, LockRequest, OplockBreakAcknowledgment, QueryDirectoryRequest,
    QueryInfoRequest, ReadFlags, SetInfoRequest, TreeConnectResponse, WriteFlags,
};

/// A READ of any length (3.2.4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The file.
    pub file_id: FileId,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// Bytes to read.
    pub length: u64,
    /// With fewer bytes the READ fails.
    pub minimum: u32,
    /// Flags of 2.2.19.
    pub flags: ReadFlags,
    /// Where the data go if the RDMA channel is allowed: to the first `length` bytes of this buffer. Otherwise they are handed out
    /// with [`Output::Data`](super::Output::Data).
    pub buffer: Option<BufferId>,
}

/// The data of a WRITE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteData {
    /// These. With a buffer that holds the same bytes they go by RDMA where the channel is allowed.
    Bytes(Bytes, Option<BufferId>),
    /// So many bytes from the beginning of a buffer. They can go by RDMA only.
    Buffer(BufferId, u64),
}

/// A WRITE of any length (3.2.4.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub file_id: FileId,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// Flags of 2.2.21.
    pub flags: WriteFlags,
    /// The data.
    pub data: WriteData,
}

/// An operation in a tree connect. Each ends in exactly one result. The requests are those of the wire, so every field of theirs can be
/// set; FileIds are the caller's to keep.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<'a> {
    /// Opens a file, a directory or a pipe.
    Create(CreateRequest<'a>),
    /// Closes one.
    Close(CloseRequest),
    /// Has data written to disk.
    Flush(FlushRequest),
    /// Reads.
    Read(Read),
    /// Writes.
    Write(Write),
    /// Locks and unlocks ranges.
    Lock(LockRequest<'a>),
    /// A control code.
    Ioctl(IoctlRequest<'a>),
    /// Lists a directory.
    QueryDirectory(QueryDirectoryRequest<'a>),
    /// Waits for changes in a directory.
    ChangeNotify(ChangeNotifyRequest),
    /// Asks for properties.
    QueryInfo(QueryInfoRequest<'a>),
    /// Sets properties.
    SetInfo(SetInfoRequest<'a>),
    /// Acknowledges an oplock break.
    OplockBreak(OplockBreakAcknowledgment),
    /// Acknowledges a lease break.
    LeaseBreak(LeaseBreakAcknowledgment),
    /// Any message, for who tests a server: the layer below operations.
    Message(SingleMessage<'a>),
}

/// A single message: its header is filled in, and what follows the header is sent as it is. The answer is handed out as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleMessage<'a> {
    /// The command.
    pub command: Command,
    /// Bytes of the request's data, or the most of the answer's: they make its CreditCharge (3.1.5.2).
    pub payload: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

/// What an operation is about, while it is under way.
#[derive(Debug)]
pub(super) enum Kind {
    Login(Box<Login>),
    Logoff(Key),
    Connect,
    /// A tree connect of 3.0 or 3.0.2 that is there already and waits for VALIDATE_NEGOTIATE_INFO.
    Validate(Box<(Key, TreeConnectResponse)>),
    Disconnect(Key),
    Single,
    /// The answer is not read.
    Message,
    Transfer(Transfer),
}

impl Kind {
    /// Whether it is one request, and no authentication.
    pub(super) const fn is_single(&self) -> bool {
        matches!(self, Self::Connect | Self::Disconnect(_) | Self::Logoff(_) | Self::Single | Self::Message)
    }
}

/// A result that needs no message.
#[derive(Debug)]
pub(super) enum Stored {
    Session(Key),
    Reauthenticated(Key),
    LoggedOff,
    /// Boxed, because it is large and rare.
    Tree(Box<(Key, TreeConnectResponse)>),
    Disconnected,
    Read(u64),
    Written(u64),
}

impl Stored {
    pub(super) fn reply(self) -> Reply<'static> {
        match self {
            Self::Session(session) => Reply::Session(SessionHandle(session)),
            Self::Reauthenticated(session) => Reply::Reauthenticated(SessionHandle(session)),
            Self::LoggedOff => Reply::LoggedOff,
            Self::Tree(tree) => Reply::Tree(TreeHandle(tree.0), tree.1),
            Self::Disconnected => Reply::Disconnected,
            Self::Read(count) => Reply::Read(count),
            Self::Written(count) => Reply::Written(count),
        }
    }
}
