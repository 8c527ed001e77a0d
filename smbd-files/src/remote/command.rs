//! What handles ask of the driver, and what it answers.

use bytes::Bytes;
use smbd_smb2::client::{Operation, SessionHandle, TreeHandle};
use smbd_smb2::security::Credentials;
use smbd_smb2::wire::{
    AccessMask, CloseRequest, CreateDisposition, CreateOptions, CreateRequest, DirectoryInformationClass,
    FileAttributes, FileId, FlushRequest, ImpersonationLevel, InfoType, QueryDirectoryFlags,
    QueryDirectoryRequest, SetInfoRequest, ShareAccess, Text,
};
use tokio::sync::oneshot;

use super::settings::Way;
use crate::Error;

/// Bytes of a part of a listing.
const LISTING: u32 = 64 << 10;

/// Something to be done. Exactly one answer is given.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) what: What,
    pub(super) answer: oneshot::Sender<Result<Reply, Error>>,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum What {
    Login(Credentials),
    Logoff(SessionHandle),
    Connect(SessionHandle, String),
    Disconnect(TreeHandle),
    File(TreeHandle, Request),
    Read { tree: TreeHandle, file_id: FileId, offset: u64, len: u32 },
    Write { tree: TreeHandle, file_id: FileId, offset: u64, data: Bytes },
}

/// A request about a file.
#[derive(Debug)]
pub(super) enum Request {
    Open(Open),
    Close(FileId),
    Flush(FileId),
    List { file_id: FileId, restarts: bool },
    Set { file_id: FileId, class: u8, input: Vec<u8> },
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
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Nothing,
    Session(SessionHandle),
    Tree(Connected),
    Opened(Opened),
    Data(Bytes),
    Written(u64),
}

/// A share that is connected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connected {
    pub(super) tree: TreeHandle,
    pub(super) way: Way,
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
