//! What the server asks of its driver, and what comes back.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::{Buf as _, Bytes, BytesMut};
use thiserror::Error;

use super::file::{Attributes, BasicChange, Entry, Volume};
use super::path::SharePath;
use super::reason::Reason;
use super::refused::Refused;
use crate::wire::{
    AccessMask, BufferDescriptorV1, CreateAction, CreateDisposition, CreateOptions, FileAttributes,
    LockElement, NtStatus, ShareAccess, Token, transform,
};

/// Names an operation or transfer of a connection until it is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u64);

/// Names an open file of a connection. It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// Names a connection of a [`Client`](super::Client). It is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

impl LinkId {
    /// The connection with which a client has begun.
    pub const FIRST: Self = Self(1);
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message. Over SMB Direct, transfers that were asked for before it are posted before it.
    Send {
        /// The message.
        message: Outgoing,
        /// What the Send invalidates (MS-SMBD 3.1.4.2).
        invalidate: Option<Token>,
    },
    /// Read `len` bytes of the client's memory into a buffer that belongs to `id`, and say
    /// [`Connection::rdma_done`](super::Connection::rdma_done). An operation of the same id follows, and uses the buffer.
    RdmaRead {
        /// The operation that it is for.
        id: OperationId,
        /// Where the data are, in this order; at least `len` bytes.
        buffers: Arc<[BufferDescriptorV1]>,
        /// How many bytes.
        len: u32,
    },
    /// Write the first `len` bytes of the buffer that belongs to `id` to the client's memory. The buffer is free when
    /// [`Connection::rdma_done`](super::Connection::rdma_done) has been said.
    RdmaWrite {
        /// The operation whose data they are.
        id: OperationId,
        /// Where they go, in this order; at least `len` bytes.
        buffers: Arc<[BufferDescriptorV1]>,
        /// How many bytes.
        len: u32,
    },
    /// Give the first `len` bytes of the buffer that belongs to `id` to [`Connection::transform`](super::Connection::transform), which
    /// signs, encrypts, verifies or decrypts them in place (2.2.43). They are in nobody else's hands: the transfer that brought them is
    /// over, and the one that takes them away has not begun.
    Transform {
        /// The operation whose data they are.
        id: OperationId,
        /// How many bytes.
        len: u32,
    },
    /// Carry out an operation, at once or later, and say [`Connection::completed`](super::Connection::completed).
    File {
        /// Its name.
        id: OperationId,
        /// What is to be done.
        operation: Operation,
    },
    /// The client does not want to wait any longer. The operation may end with STATUS_CANCELLED, or as if nothing had been said.
    Cancel(OperationId),
    /// The client has a new session, and says that this one, of a connection that it lost, is over: each other connection of the
    /// server is told by [`Connection::end_session`](super::Connection::end_session).
    SessionReplaced {
        /// SessionId.
        session_id: u64,
        /// The user of the new session.
        user: Arc<str>,
    },
    /// A client was refused on this connection: for logs. Nothing has to be done.
    Refused(Refused),
    /// The connection is over. All its files are closed, and its operations forgotten.
    Close(Reason),
}

/// A message to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    bytes: BytesMut,
    start: usize,
}

impl Outgoing {
    pub(super) const fn new(bytes: BytesMut, start: usize) -> Self {
        Self { bytes, start }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// Bytes of memory that it holds, used or not.
    #[must_use]
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// Its bytes, of which nothing is copied. When all of them are dropped, the memory of a short message is used for another one.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        let Self { mut bytes, start } = self;
        bytes.advance(start.min(bytes.len()));
        bytes.freeze()
    }
}

impl core::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Outgoing({} bytes)", self.bytes().len())
    }
}

/// Room in front of every answer: for the header of an encrypted message.
pub(super) const FRONT: usize = transform::LEN;

/// Where the data of a READ go: the answer itself, so that they are not copied. It has no memory until [`Self::space`] is called.
#[derive(PartialEq, Eq)]
pub struct ReadBuffer {
    bytes: Vec<u8>,
    front: usize,
    /// Bytes of data.
    len: usize,
}

impl ReadBuffer {
    /// For an answer whose data begin so many bytes behind its front.
    pub(super) const fn new(data_offset: usize, len: u32) -> Self {
        Self { bytes: Vec::new(), front: FRONT.saturating_add(data_offset), len: len as usize }
    }

    /// For `len` bytes that are part of no answer, for who drives a file system without a server.
    #[must_use]
    pub const fn with_len(len: u32) -> Self {
        Self::new(0, len)
    }

    /// What is to be filled. Its length is that of the READ, or what [`Self::truncate`] left of it.
    pub fn space(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = alloc::vec![0; self.front.saturating_add(self.len)];
        }
        self.bytes.get_mut(self.front..).unwrap_or_default()
    }

    /// Says that only the first `len` bytes are data. Before [`Self::space`], the rest takes no memory. After it, memory is given back if
    /// more than half of it is not used.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.bytes.truncate(self.front.saturating_add(self.len));
        if self.bytes.capacity() / 2 > self.bytes.len() {
            // Not shrunk in place: allocators leave a gap then that the next READ does not fit in.
            self.bytes = self.bytes.as_slice().into();
        }
    }

    /// Gives the memory back. What was filled is lost.
    pub fn release(&mut self) {
        self.bytes = Vec::new();
    }

    /// Takes what was filled, with its memory.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self { bytes: core::mem::take(&mut self.bytes), front: self.front, len: self.len }
    }

    /// Bytes of memory that it has.
    #[must_use]
    pub fn held(&self) -> usize {
        self.bytes.capacity()
    }

    /// How many bytes are data.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn into_bytes(mut self) -> BytesMut {
        // Data that nobody has written are zeros.
        self.space();
        // Of one owner, so nothing is copied.
        Bytes::from(self.bytes).into()
    }
}

impl core::fmt::Debug for ReadBuffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ReadBuffer({} bytes)", self.len())
    }
}

/// How a file is opened (2.2.13). Rights are those that the share allows, without generic ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenParameters {
    /// Index of the share, as [`Params::shares`](super::Params::shares) has them.
    pub share: usize,
    /// The file.
    pub path: SharePath,
    /// What the client may do with it.
    pub access: AccessMask,
    /// What the client may do with a file that is there and is READONLY. It has no right to write that comes of MAXIMUM_ALLOWED alone;
    /// one that the client asked for is not granted (MS-FSA 2.1.5.1.2.1).
    pub read_only_access: AccessMask,
    /// What others may do with it at the same time.
    pub share_access: ShareAccess,
    /// Whether it is opened, made or replaced.
    pub disposition: CreateDisposition,
    /// DIRECTORY_FILE, NON_DIRECTORY_FILE and DELETE_ON_CLOSE have a meaning.
    pub options: CreateOptions,
    /// Attributes of a new file.
    pub file_attributes: FileAttributes,
}

/// Something to be done with a file. `now` of whoever carries it out is a FILETIME.
#[derive(Debug, PartialEq, Eq)]
pub enum Operation {
    /// Open a file, by which it gets this handle: [`Done::Opened`].
    Open(Handle, OpenParameters),
    /// Close it. No other operation of this handle is left then. [`Done::Attributes`] if they are wanted, else [`Done::Nothing`].
    Close {
        /// The file.
        handle: Handle,
        /// Whether its attributes are wanted, as they are after it.
        wants_attributes: bool,
    },
    /// Read into the answer: [`Done::Read`].
    Read {
        /// The file.
        handle: Handle,
        /// Where in it, in bytes.
        offset: u64,
        /// Where the data go. It comes back.
        buffer: ReadBuffer,
    },
    /// Read into the buffer that belongs to the operation: [`Done::Count`]. The data go by RDMA.
    ReadChannel {
        /// The file.
        handle: Handle,
        /// Where in it, in bytes.
        offset: u64,
        /// How many bytes.
        len: u32,
    },
    /// Write all of it: [`Done::Nothing`].
    Write {
        /// The file.
        handle: Handle,
        /// Where in it, in bytes.
        offset: u64,
        /// The data, or how many bytes they are in the buffer that belongs to the operation.
        data: WriteData,
        /// Whether they are on disk before the operation is completed.
        through: bool,
        /// STATUS_ACCESS_DENIED if it begins before the end of the file.
        append_only: bool,
    },
    /// Put on disk what was written: [`Done::Nothing`].
    Flush(Handle),
    /// What is known of it: [`Done::Attributes`].
    Attributes(Handle),
    /// What is known of its volume: [`Done::Volume`].
    Volume(Handle),
    /// Entries of a directory: [`Done::Entries`], first of all `.` and `..`; none behind the last.
    List {
        /// The directory.
        handle: Handle,
        /// [`Entry::position`] of the one before; 0 at the beginning.
        after: u64,
        /// The most entries.
        max: usize,
    },
    /// Change something: [`Done::Nothing`].
    Change(Handle, Change),
    /// Lock ranges, all or none: [`Done::Nothing`]. If one cannot be locked, STATUS_LOCK_NOT_GRANTED; without
    /// [`LockFlags::FAIL_IMMEDIATELY`](crate::wire::LockFlags::FAIL_IMMEDIATELY) it waits until it can.
    Lock(Handle, Vec<LockElement>),
    /// Unlock ranges, one after the other: [`Done::Nothing`]. It ends at one that is not locked with STATUS_RANGE_NOT_LOCKED, and at one
    /// whose flags are not those of an unlock with STATUS_INVALID_PARAMETER (3.3.5.14.1); those before it stay unlocked.
    Unlock(Handle, Vec<LockElement>),
}

/// What a WRITE writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteData {
    /// These bytes.
    Bytes(Bytes),
    /// So many bytes of the buffer that belongs to the operation, into which [`Action::RdmaRead`] has read them.
    Channel(u32),
}

/// Something that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Times and attributes.
    Basic(BasicChange),
    /// Bytes of data: what is beyond is gone, what is new is zero.
    EndOfFile(u64),
    /// Bytes on disk: data beyond are gone.
    Allocation(u64),
    /// Whether it goes when it is closed by all.
    Delete(bool),
    /// Its name.
    Rename {
        /// The new one.
        path: SharePath,
        /// Whether a file of this name is replaced.
        replace: bool,
    },
}

/// What came of an operation that succeeded.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing that anybody needs.
    Nothing,
    /// A file is open.
    Opened {
        /// What was done.
        action: CreateAction,
        /// What is known of it.
        attributes: Attributes,
    },
    /// The data of a [`Operation::Read`]: truncated to those before the end of the file.
    Read(ReadBuffer),
    /// How many bytes were read.
    Count(u32),
    /// What is known of a file.
    Attributes(Attributes),
    /// What is known of a volume.
    Volume(Volume),
    /// Entries of a directory.
    Entries(Vec<Entry>),
}

/// What the driver says of an operation is none that it could be. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// No operation has this id, or it waits for something else.
    #[error("no such operation: {}", .0.0)]
    Unknown(OperationId),
}

/// How an operation ended.
pub type Completion = Result<Done, NtStatus>;
