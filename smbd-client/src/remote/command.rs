//! What handles ask of the driver, and what it answers.

use bytes::Bytes;
use smbd_smb2::client::{Negotiated, Operation, Protection, SessionExport, TreeExport, interface_query};
use smbd_smb2::security::Credentials;
use smbd_smb2::wire::{
    AccessMask, CloseRequest, CreateDisposition, CreateOptions, CreateRequest, DirectoryInformationClass,
    FileAttributes, FileId, FlushRequest, ImpersonationLevel, InfoType, QueryDirectoryFlags,
    QueryDirectoryRequest, SessionId, SetInfoRequest, ShareAccess, Text,
};

use super::buffer::Allocation;
use super::key::Place;
use super::settings::Way;

/// Bytes of a part of a listing.
const LISTING: u32 = 64 << 10;

/// What is to be done. Sessions and tree connects have names that all connections of a session know.
#[derive(Debug)]
pub(super) enum What {
    /// With the place where the key of the session is left, if somebody wants it.
    Login(Credentials, Option<Place>),
    /// Gives a session away, for another connection.
    Export(SessionId),
    /// Binds one that was given away.
    Bind(Option<Box<Bindable>>),
    Logoff(SessionId),
    Connect(SessionId, String),
    Disconnect(TreeExport),
    File(TreeExport, Request),
    Read {
        tree: TreeExport,
        file_id: FileId,
        offset: u64,
        len: u32,
    },
    Write {
        tree: TreeExport,
        file_id: FileId,
        offset: u64,
        data: Bytes,
    },
    /// Memory of this length, for the two below.
    Allocate(u32),
    ReadInto {
        tree: TreeExport,
        file_id: FileId,
        offset: u64,
        len: u32,
        buffer: Allocation,
    },
    WriteFrom {
        tree: TreeExport,
        file_id: FileId,
        offset: u64,
        len: u32,
        buffer: Allocation,
    },
}

/// A session for another connection, and whose it is.
#[derive(Debug)]
pub(super) struct Bindable {
    pub(super) session: SessionExport,
    pub(super) user: Credentials,
}

impl What {
    /// Whether it moves data: several connections share that.
    pub(super) const fn is_data(&self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::Write { .. }
                | Self::Allocate(_)
                | Self::ReadInto { .. }
                | Self::WriteFrom { .. }
        )
    }

    /// The memory that it uses.
    pub(super) const fn buffer(&self) -> Option<&Allocation> {
        match self {
            Self::ReadInto { buffer, .. } | Self::WriteFrom { buffer, .. } => Some(buffer),
            _ => None,
        }
    }

    /// Whether it may be done again on another connection when nobody knows whether it was done.
    pub(super) fn can_repeat(&self) -> bool {
        match self {
            Self::Read { .. } | Self::Write { .. } | Self::Connect(..) => true,
            Self::ReadInto { .. } | Self::WriteFrom { .. } | Self::Allocate(_) => true,
            // What is opened twice is closed with the session. Nothing that is in a file goes by it.
            Self::File(_, Request::Open(open)) => {
                matches!(open.disposition, CreateDisposition::OPEN | CreateDisposition::OPEN_IF)
            }
            Self::File(_, request) => request.operation().replay().is_ok(),
            Self::Login(..) | Self::Export(_) | Self::Bind(_) | Self::Logoff(_) | Self::Disconnect(_) => {
                false
            }
        }
    }

    pub(super) const fn closes(&self) -> bool {
        matches!(self, Self::File(_, Request::Close(_)))
    }

    /// The session that it is in.
    pub(super) const fn session(&self) -> Option<SessionId> {
        match self {
            Self::Login(..) | Self::Bind(_) | Self::Allocate(_) => None,
            Self::Export(session) | Self::Logoff(session) | Self::Connect(session, _) => Some(*session),
            Self::Disconnect(tree)
            | Self::File(tree, _)
            | Self::Read { tree, .. }
            | Self::Write { tree, .. }
            | Self::ReadInto { tree, .. }
            | Self::WriteFrom { tree, .. } => Some(tree.session_id()),
        }
    }

    /// The name of its request.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Login(..) | Self::Export(_) | Self::Bind(_) => "SESSION_SETUP",
            Self::Logoff(_) => "LOGOFF",
            Self::Connect(..) => "TREE_CONNECT",
            Self::Disconnect(_) => "TREE_DISCONNECT",
            Self::File(_, Request::Open(_)) => "CREATE",
            Self::File(_, Request::Close(_)) => "CLOSE",
            Self::File(_, Request::Flush(_)) => "FLUSH",
            Self::File(_, Request::List { .. }) => "QUERY_DIRECTORY",
            Self::File(_, Request::Set { .. }) => "SET_INFO",
            Self::File(_, Request::Interfaces) => "IOCTL",
            Self::Read { .. } | Self::ReadInto { .. } => "READ",
            Self::Write { .. } | Self::WriteFrom { .. } => "WRITE",
            Self::Allocate(_) => "none",
        }
    }
}

/// A request about a file.
#[derive(Debug)]
pub(super) enum Request {
    Open(Open),
    Close(FileId),
    Flush(FileId),
    List {
        file_id: FileId,
        restarts: bool,
    },
    Set {
        file_id: FileId,
        class: u8,
        input: Vec<u8>,
    },
    /// Of the server.
    Interfaces,
}

/// How a file is opened.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// With backslashes.
    pub(super) path: String,
    pub(super) access: AccessMask,
    pub(super) share_access: ShareAccess,
    pub(super) disposition: CreateDisposition,
    pub(super) options: CreateOptions,
}

impl Request {
    pub(super) fn operation(&self) -> Operation<'_> {
        match self {
            Self::Open(open) => Operation::Create(CreateRequest {
                impersonation_level: ImpersonationLevel::IMPERSONATION,
                desired_access: open.access,
                file_attributes: FileAttributes(0),
                share_access: open.share_access,
                create_disposition: open.disposition,
                create_options: open.options,
                name: Text::from(open.path.as_str()),
                ..CreateRequest::default()
            }),
            Self::Close(file_id) => {
                Operation::Close(CloseRequest { file_id: *file_id, ..CloseRequest::default() })
            }
            Self::Flush(file_id) => Operation::Flush(FlushRequest { file_id: *file_id }),
            Self::List { file_id, restarts } => Operation::QueryDirectory(QueryDirectoryRequest {
                information_class: DirectoryInformationClass::DIRECTORY,
                flags: QueryDirectoryFlags(0).with(QueryDirectoryFlags::RESTART_SCANS, *restarts),
                file_id: *file_id,
                output_buffer_length: LISTING,
                pattern: Text::from("*"),
                ..QueryDirectoryRequest::default()
            }),
            Self::Set { file_id, class, input } => Operation::SetInfo(SetInfoRequest {
                info_type: InfoType::FILE,
                info_class: *class,
                file_id: *file_id,
                input,
                ..SetInfoRequest::default()
            }),
            Self::Interfaces => interface_query(),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Reply {
    Nothing,
    Session(SessionId),
    Bindable(Box<Bindable>),
    Tree(Connected),
    Opened(Opened),
    Data(Bytes),
    Written(u64),
    Allocated(Allocation),
    /// So many bytes are in the buffer.
    Filled(u32),
}

/// A share that is connected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connected {
    pub(super) tree: TreeExport,
    pub(super) protection: Protection,
    /// These of the connection that it was made on.
    pub(super) way: Way,
    pub(super) negotiated: Negotiated,
    /// The most bytes of one READ and of one WRITE.
    pub(super) read_max: u32,
    pub(super) write_max: u32,
}

/// A file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) file_id: FileId,
    pub(super) stat: super::stat::Stat,
}
