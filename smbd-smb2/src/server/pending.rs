//! Requests that wait for something.

use alloc::sync::Arc;

use super::action::{Handle, Operation};
use super::chain::{Answer, Asked, Chain};
use super::path::SharePath;
use super::reason::Reason;
use super::session::{Kept, Listing};
use crate::cover::Cover;
use crate::wire::{
    AccessMask, AdditionalInformation, BufferDescriptorV1, CreateOptions, DirectoryInformationClass, FileId,
    QueryMaximalAccessRequest, TreeId,
};

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is answered.
    Answer(Answer),
    /// It waits.
    Wait(What, Task),
    /// The connection ends.
    Close(Reason),
}

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Task {
    /// An operation on a file.
    File(Operation),
    /// Closing a file, when nothing else is done with it.
    Close { handle: Handle, wants_attributes: bool },
    /// Its turn among the enumerations of a directory.
    Turn { handle: Handle },
    /// Data of a WRITE.
    RdmaRead { buffers: Arc<[BufferDescriptorV1]>, len: u32 },
    /// Data that go by RDMA to be signed, encrypted, verified or decrypted.
    Transform { len: u32 },
    /// A change that is never told: until it is cancelled, or the directory closed.
    Change { handle: Handle },
}

/// What is done when the operation of a request is completed.
#[derive(Debug)]
pub(super) enum What {
    /// CREATE.
    Create(Creating),
    /// CLOSE.
    Close { wants_attributes: bool },
    /// FLUSH, LOCK or SET_INFO: the answer says nothing.
    Plain { file_id: FileId, kept: Option<Kept> },
    /// READ: into the answer.
    Read { file_id: FileId, minimum: u32 },
    /// READ by the channel.
    ReadChannel(Reading),
    /// READ by the channel: its data are being signed or encrypted.
    Cover { reading: Reading, len: u32, cover: Cover },
    /// WRITE whose data are being read, and what is to be done then.
    Fetch { file_id: FileId, len: u32, operation: Operation, cover: Option<Cover> },
    /// WRITE whose data are being verified or decrypted, and what is to be done then.
    Uncover { file_id: FileId, len: u32, operation: Operation, cover: Cover },
    /// WRITE.
    Write { file_id: FileId, len: u32 },
    /// QUERY_INFO, of a file or volume.
    Query(Query),
    /// QUERY_DIRECTORY.
    List(Enumeration),
    /// CHANGE_NOTIFY.
    Notify { file_id: FileId },
}

/// A READ by the channel.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) file_id: FileId,
    pub(super) handle: Handle,
    pub(super) minimum: u32,
    pub(super) buffers: Arc<[BufferDescriptorV1]>,
    /// The transform that its data get.
    pub(super) cover: Option<Cover>,
}

/// A file that is being opened.
#[derive(Debug)]
pub(super) struct Creating {
    pub(super) handle: Handle,
    pub(super) tree: TreeId,
    pub(super) path: SharePath,
    pub(super) access: AccessMask,
    /// [`OpenParameters::read_only_access`](super::action::OpenParameters::read_only_access).
    pub(super) read_only_access: AccessMask,
    pub(super) maximal_access: AccessMask,
    pub(super) options: CreateOptions,
    /// ChannelSequence of the request.
    pub(super) channel_sequence: u16,
    pub(super) asks_for_access: Option<QueryMaximalAccessRequest>,
    /// SMB2_CREATE_QUERY_ON_DISK_ID.
    pub(super) wants_id: bool,
}

/// What QUERY_INFO asks for.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) file_id: FileId,
    pub(super) about: About,
    pub(super) output_max: u32,
    /// What the open knows: it may be closed before the driver answers.
    pub(super) path: SharePath,
    pub(super) access: AccessMask,
    pub(super) options: CreateOptions,
    pub(super) position: u64,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A class of a file (MS-FSCC 2.4).
    File(u8),
    /// A class of a volume (MS-FSCC 2.5).
    Volume(u8),
    /// A security descriptor.
    Security(AdditionalInformation),
}

/// A part of an enumeration.
#[derive(Debug)]
pub(super) struct Enumeration {
    pub(super) file_id: FileId,
    pub(super) handle: Handle,
    pub(super) class: DirectoryInformationClass,
    /// Where it begins: at the first entry before its turn.
    pub(super) listing: Listing,
    /// It stays at the first entry, wherever the enumeration before it has ended.
    pub(super) restarts: bool,
    pub(super) is_single: bool,
    pub(super) output_max: u32,
}

/// A request that waits.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) asked: Asked,
    pub(super) chain: Chain,
    pub(super) what: What,
    /// The file that an operation is carried out on, or will be.
    pub(super) handle: Option<Handle>,
    pub(super) waits_for: WaitsFor,
}

/// Who has to say something before a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// An operation of the driver.
    File,
    /// A transfer of the driver.
    Rdma,
    /// Data of the driver.
    Transform,
    /// Other operations of the same file.
    Others,
    /// The enumerations of the same directory that came before: they move the position that it goes on from.
    Turn,
    /// Nobody.
    Change,
}

impl Pending {
    /// Whether it enumerates this directory, or will.
    pub(super) fn is_listing(&self, handle: Handle) -> bool {
        self.handle == Some(handle) && matches!(self.what, What::List(_))
    }
}

impl Task {
    pub(super) const fn waits_for(&self) -> WaitsFor {
        match self {
            Self::File(_) => WaitsFor::File,
            Self::Close { .. } => WaitsFor::Others,
            Self::Turn { .. } => WaitsFor::Turn,
            Self::RdmaRead { .. } => WaitsFor::Rdma,
            Self::Transform { .. } => WaitsFor::Transform,
            Self::Change { .. } => WaitsFor::Change,
        }
    }
}

impl Operation {
    /// The file that it is about.
    pub const fn handle(&self) -> Handle {
        match self {
            Self::Open(handle, _)
            | Self::Close { handle, .. }
            | Self::Read { handle, .. }
            | Self::ReadChannel { handle, .. }
            | Self::Write { handle, .. }
            | Self::Flush(handle)
            | Self::Attributes(handle)
            | Self::Volume(handle)
            | Self::List { handle, .. }
            | Self::Change(handle, _)
            | Self::Lock(handle, _)
            | Self::Unlock(handle, _) => *handle,
        }
    }
}
