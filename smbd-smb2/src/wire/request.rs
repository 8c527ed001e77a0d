//! The body of any request.

use super::body::Body;
use super::cancel::CancelRequest;
use super::change_notify::{self, ChangeNotifyRequest};
use super::close::{self, CloseRequest};
use super::command::Command;
use super::create::CreateRequest;
use super::echo::EchoRequest;
use super::error::WireError;
use super::field::Field;
use super::flush::{self, FlushRequest};
use super::header::{self, Header};
use super::id::FileId;
use super::ioctl::{self, IoctlRequest};
use super::lock::{self, LockRequest};
use super::logoff::LogoffRequest;
use super::negotiate::NegotiateRequest;
use super::oplock_break::{self, LeaseBreakAcknowledgment, OplockBreakAcknowledgment};
use super::query_directory::{self, QueryDirectoryRequest};
use super::query_info::{self, QueryInfoRequest};
use super::read::{self, ReadRequest};
use super::session_setup::SessionSetupRequest;
use super::set_info::{self, SetInfoRequest};
use super::tree_connect::TreeConnectRequest;
use super::tree_disconnect::TreeDisconnectRequest;
use super::write::{self, WriteRequest};
use super::writer::Writer;

/// The body of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Request<'a> {
    /// NEGOTIATE.
    Negotiate(NegotiateRequest<'a>),
    /// SESSION_SETUP.
    SessionSetup(SessionSetupRequest<'a>),
    /// LOGOFF.
    Logoff(LogoffRequest),
    /// TREE_CONNECT.
    TreeConnect(TreeConnectRequest<'a>),
    /// TREE_DISCONNECT.
    TreeDisconnect(TreeDisconnectRequest),
    /// CREATE.
    Create(CreateRequest<'a>),
    /// CLOSE.
    Close(CloseRequest),
    /// FLUSH.
    Flush(FlushRequest),
    /// READ.
    Read(ReadRequest<'a>),
    /// WRITE.
    Write(WriteRequest<'a>),
    /// LOCK.
    Lock(LockRequest<'a>),
    /// IOCTL.
    Ioctl(IoctlRequest<'a>),
    /// CANCEL.
    Cancel(CancelRequest),
    /// ECHO.
    Echo(EchoRequest),
    /// QUERY_DIRECTORY.
    QueryDirectory(QueryDirectoryRequest<'a>),
    /// CHANGE_NOTIFY.
    ChangeNotify(ChangeNotifyRequest),
    /// QUERY_INFO.
    QueryInfo(QueryInfoRequest<'a>),
    /// SET_INFO.
    SetInfo(SetInfoRequest<'a>),
    /// OPLOCK_BREAK, the acknowledgment for an oplock.
    OplockBreak(OplockBreakAcknowledgment),
    /// OPLOCK_BREAK, the acknowledgment for a lease.
    LeaseBreak(LeaseBreakAcknowledgment),
    /// Another command: what follows the header.
    Other(Command, &'a [u8]),
}

impl<'a> Request<'a> {
    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The header or the body cannot be read.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        let command = Header::parse(element)?.command;
        Ok(match command {
            Command::NEGOTIATE => Self::Negotiate(NegotiateRequest::parse(element)?),
            Command::SESSION_SETUP => Self::SessionSetup(SessionSetupRequest::parse(element)?),
            Command::LOGOFF => Self::Logoff(LogoffRequest::parse(element)?),
            Command::TREE_CONNECT => Self::TreeConnect(TreeConnectRequest::parse(element)?),
            Command::TREE_DISCONNECT => Self::TreeDisconnect(TreeDisconnectRequest::parse(element)?),
            Command::CREATE => Self::Create(CreateRequest::parse(element)?),
            Command::CLOSE => Self::Close(CloseRequest::parse(element)?),
            Command::FLUSH => Self::Flush(FlushRequest::parse(element)?),
            Command::READ => Self::Read(ReadRequest::parse(element)?),
            Command::WRITE => Self::Write(WriteRequest::parse(element)?),
            Command::LOCK => Self::Lock(LockRequest::parse(element)?),
            Command::IOCTL => Self::Ioctl(IoctlRequest::parse(element)?),
            Command::CANCEL => Self::Cancel(CancelRequest::parse(element)?),
            Command::ECHO => Self::Echo(EchoRequest::parse(element)?),
            Command::QUERY_DIRECTORY => Self::QueryDirectory(QueryDirectoryRequest::parse(element)?),
            Command::CHANGE_NOTIFY => Self::ChangeNotify(ChangeNotifyRequest::parse(element)?),
            Command::QUERY_INFO => Self::QueryInfo(QueryInfoRequest::parse(element)?),
            Command::SET_INFO => Self::SetInfo(SetInfoRequest::parse(element)?),
            Command::OPLOCK_BREAK if is_lease(element)? => {
                Self::LeaseBreak(LeaseBreakAcknowledgment::parse(element)?)
            }
            Command::OPLOCK_BREAK => Self::OplockBreak(OplockBreakAcknowledgment::parse(element)?),
            other => Self::Other(other, element.get(header::LEN..).unwrap_or_default()),
        })
    }

    /// The command.
    #[must_use]
    pub const fn command(&self) -> Command {
        match self {
            Self::Negotiate(_) => Command::NEGOTIATE,
            Self::SessionSetup(_) => Command::SESSION_SETUP,
            Self::Logoff(_) => Command::LOGOFF,
            Self::TreeConnect(_) => Command::TREE_CONNECT,
            Self::TreeDisconnect(_) => Command::TREE_DISCONNECT,
            Self::Create(_) => Command::CREATE,
            Self::Close(_) => Command::CLOSE,
            Self::Flush(_) => Command::FLUSH,
            Self::Read(_) => Command::READ,
            Self::Write(_) => Command::WRITE,
            Self::Lock(_) => Command::LOCK,
            Self::Ioctl(_) => Command::IOCTL,
            Self::Cancel(_) => Command::CANCEL,
            Self::Echo(_) => Command::ECHO,
            Self::QueryDirectory(_) => Command::QUERY_DIRECTORY,
            Self::ChangeNotify(_) => Command::CHANGE_NOTIFY,
            Self::QueryInfo(_) => Command::QUERY_INFO,
            Self::SetInfo(_) => Command::SET_INFO,
            Self::OplockBreak(_) | Self::LeaseBreak(_) => Command::OPLOCK_BREAK,
            Self::Other(other, _) => *other,
        }
    }

    /// The file that the request is about, if it names one. [`FileId::RELATED`] in a related request is that of the one before.
    #[must_use]
    pub const fn file_id(&self) -> Option<FileId> {
        match self {
            Self::Close(request) => Some(request.file_id),
            Self::Flush(request) => Some(request.file_id),
            Self::Read(request) => Some(request.file_id),
            Self::Write(request) => Some(request.file_id),
            Self::Lock(request) => Some(request.file_id),
            Self::Ioctl(request) => Some(request.file_id),
            Self::QueryDirectory(request) => Some(request.file_id),
            Self::ChangeNotify(request) => Some(request.file_id),
            Self::QueryInfo(request) => Some(request.file_id),
            Self::SetInfo(request) => Some(request.file_id),
            Self::OplockBreak(request) => Some(request.file_id),
            Self::Negotiate(_)
            | Self::SessionSetup(_)
            | Self::Logoff(_)
            | Self::TreeConnect(_)
            | Self::TreeDisconnect(_)
            | Self::Create(_)
            | Self::Cancel(_)
            | Self::Echo(_)
            | Self::LeaseBreak(_)
            | Self::Other(..) => None,
        }
    }

    /// Where an element of a request has the FileId, if it has one, without reading the rest of the body.
    ///
    /// # Errors
    /// The header or the body's StructureSize cannot be read.
    pub fn file_id_field(element: &[u8]) -> Result<Option<&'static Field<FileId>>, WireError> {
        Ok(Some(match Header::parse(element)?.command {
            Command::CLOSE => &close::request::FILE_ID,
            Command::FLUSH => &flush::request::FILE_ID,
            Command::READ => &read::request::FILE_ID,
            Command::WRITE => &write::request::FILE_ID,
            Command::LOCK => &lock::request::FILE_ID,
            Command::IOCTL => &ioctl::request::FILE_ID,
            Command::QUERY_DIRECTORY => &query_directory::request::FILE_ID,
            Command::CHANGE_NOTIFY => &change_notify::request::FILE_ID,
            Command::QUERY_INFO => &query_info::request::FILE_ID,
            Command::SET_INFO => &set_info::request::FILE_ID,
            Command::OPLOCK_BREAK if !is_lease(element)? => &oplock_break::oplock_acknowledgment::FILE_ID,
            _ => return Ok(None),
        }))
    }
}

/// Whether an acknowledgment is that for a lease.
fn is_lease(element: &[u8]) -> Result<bool, WireError> {
    let size = oplock_break::oplock_acknowledgment::STRUCTURE_SIZE.get(element)?;
    Ok(size == LeaseBreakAcknowledgment::STRUCTURE_SIZE)
}

impl Body for Request<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Negotiate(request) => request.put(out),
            Self::SessionSetup(request) => request.put(out),
            Self::Logoff(request) => request.put(out),
            Self::TreeConnect(request) => request.put(out),
            Self::TreeDisconnect(request) => request.put(out),
            Self::Create(request) => request.put(out),
            Self::Close(request) => request.put(out),
            Self::Flush(request) => request.put(out),
            Self::Read(request) => request.put(out),
            Self::Write(request) => request.put(out),
            Self::Lock(request) => request.put(out),
            Self::Ioctl(request) => request.put(out),
            Self::Cancel(request) => request.put(out),
            Self::Echo(request) => request.put(out),
            Self::QueryDirectory(request) => request.put(out),
            Self::ChangeNotify(request) => request.put(out),
            Self::QueryInfo(request) => request.put(out),
            Self::SetInfo(request) => request.put(out),
            Self::OplockBreak(request) => request.put(out),
            Self::LeaseBreak(request) => request.put(out),
            Self::Other(_, body) => {
                out.append(body);
                Ok(())
            }
        }
    }
}
