//! The body of any response.

use super::body::Body;
use super::change_notify::ChangeNotifyResponse;
use super::close::CloseResponse;
use super::command::Command;
use super::create::CreateResponse;
use super::echo::EchoResponse;
use super::error::WireError;
use super::error_response::{self, ErrorResponse};
use super::flush::FlushResponse;
use super::header::{self, Header};
use super::ioctl::IoctlResponse;
use super::lock::LockResponse;
use super::logoff::LogoffResponse;
use super::negotiate::NegotiateResponse;
use super::notification::ServerToClientNotification;
use super::oplock_break::{self, LeaseBreakNotification, LeaseBreakResponse, OplockBreak};
use super::query_directory::QueryDirectoryResponse;
use super::query_info::QueryInfoResponse;
use super::read::ReadResponse;
use super::session_setup::SessionSetupResponse;
use super::set_info::SetInfoResponse;
use super::status::NtStatus;
use super::tree_connect::TreeConnectResponse;
use super::tree_disconnect::TreeDisconnectResponse;
use super::write::WriteResponse;
use super::writer::Writer;

/// The body of a response, or of what a server sends unasked.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Response<'a> {
    /// NEGOTIATE.
    Negotiate(NegotiateResponse<'a>),
    /// SESSION_SETUP.
    SessionSetup(SessionSetupResponse<'a>),
    /// LOGOFF.
    Logoff(LogoffResponse),
    /// TREE_CONNECT.
    TreeConnect(TreeConnectResponse),
    /// TREE_DISCONNECT.
    TreeDisconnect(TreeDisconnectResponse),
    /// CREATE.
    Create(CreateResponse<'a>),
    /// CLOSE.
    Close(CloseResponse),
    /// FLUSH.
    Flush(FlushResponse),
    /// READ.
    Read(ReadResponse<'a>),
    /// WRITE.
    Write(WriteResponse),
    /// LOCK.
    Lock(LockResponse),
    /// IOCTL.
    Ioctl(IoctlResponse<'a>),
    /// ECHO.
    Echo(EchoResponse),
    /// QUERY_DIRECTORY.
    QueryDirectory(QueryDirectoryResponse<'a>),
    /// CHANGE_NOTIFY.
    ChangeNotify(ChangeNotifyResponse<'a>),
    /// QUERY_INFO.
    QueryInfo(QueryInfoResponse<'a>),
    /// SET_INFO.
    SetInfo(SetInfoResponse),
    /// OPLOCK_BREAK for an oplock: a notification, or the answer to an acknowledgment.
    OplockBreak(OplockBreak),
    /// OPLOCK_BREAK for a lease: a notification.
    LeaseBreakNotification(LeaseBreakNotification),
    /// OPLOCK_BREAK for a lease: the answer to an acknowledgment.
    LeaseBreak(LeaseBreakResponse),
    /// SERVER_TO_CLIENT_NOTIFICATION.
    Notification(ServerToClientNotification<'a>),
    /// A failure of any command, or an interim response.
    Error(ErrorResponse<'a>),
    /// Another command: what follows the header.
    Other(Command, &'a [u8]),
}

impl<'a> Response<'a> {
    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The header or the body cannot be read.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        let header = Header::parse(element)?;
        if has_error_body(&header, element)? {
            return Ok(Self::Error(ErrorResponse::parse(element)?));
        }
        Ok(match header.command {
            Command::NEGOTIATE => Self::Negotiate(NegotiateResponse::parse(element)?),
            Command::SESSION_SETUP => Self::SessionSetup(SessionSetupResponse::parse(element)?),
            Command::LOGOFF => Self::Logoff(LogoffResponse::parse(element)?),
            Command::TREE_CONNECT => Self::TreeConnect(TreeConnectResponse::parse(element)?),
            Command::TREE_DISCONNECT => Self::TreeDisconnect(TreeDisconnectResponse::parse(element)?),
            Command::CREATE => Self::Create(CreateResponse::parse(element)?),
            Command::CLOSE => Self::Close(CloseResponse::parse(element)?),
            Command::FLUSH => Self::Flush(FlushResponse::parse(element)?),
            Command::READ => Self::Read(ReadResponse::parse(element)?),
            Command::WRITE => Self::Write(WriteResponse::parse(element)?),
            Command::LOCK => Self::Lock(LockResponse::parse(element)?),
            Command::IOCTL => Self::Ioctl(IoctlResponse::parse(element)?),
            Command::ECHO => Self::Echo(EchoResponse::parse(element)?),
            Command::QUERY_DIRECTORY => Self::QueryDirectory(QueryDirectoryResponse::parse(element)?),
            Command::CHANGE_NOTIFY => Self::ChangeNotify(ChangeNotifyResponse::parse(element)?),
            Command::QUERY_INFO => Self::QueryInfo(QueryInfoResponse::parse(element)?),
            Command::SET_INFO => Self::SetInfo(SetInfoResponse::parse(element)?),
            Command::OPLOCK_BREAK => match oplock_break::oplock::STRUCTURE_SIZE.get(element)? {
                LeaseBreakNotification::STRUCTURE_SIZE => {
                    Self::LeaseBreakNotification(LeaseBreakNotification::parse(element)?)
                }
                LeaseBreakResponse::STRUCTURE_SIZE => Self::LeaseBreak(LeaseBreakResponse::parse(element)?),
                _ => Self::OplockBreak(OplockBreak::parse(element)?),
            },
            Command::SERVER_TO_CLIENT_NOTIFICATION => {
                Self::Notification(ServerToClientNotification::parse(element)?)
            }
            other => Self::Other(other, element.get(header::LEN..).unwrap_or_default()),
        })
    }
}

/// Commands whose own body has the size of a failure's, and the status with which it comes.
const OWN_SIZE_IS_NINE: &[(Command, NtStatus)] = &[
    (Command::SESSION_SETUP, NtStatus::MORE_PROCESSING_REQUIRED),
    (Command::QUERY_INFO, NtStatus::BUFFER_OVERFLOW),
    (Command::CHANGE_NOTIFY, NtStatus::NOTIFY_ENUM_DIR),
    // No status but success has a body of its own.
    (Command::QUERY_DIRECTORY, NtStatus::SUCCESS),
];

/// Whether the body is that of a failure (3.3.4.4, 3.3.4.2), whatever the command is.
pub(crate) fn has_error_body(header: &Header, element: &[u8]) -> Result<bool, WireError> {
    // Beyond OPLOCK_BREAK nothing is an answer, and StructureSize is no fixed one.
    if header.status == NtStatus::SUCCESS || header.command >= Command::SERVER_TO_CLIENT_NOTIFICATION {
        return Ok(false);
    }
    if let Some((_, with_own_body)) = OWN_SIZE_IS_NINE.iter().find(|(command, _)| *command == header.command)
    {
        return Ok(header.status != *with_own_body);
    }
    // Only bodies of failures have this size: of READ and IOCTL there are others with a status that is no success.
    let size = error_response::field::STRUCTURE_SIZE.get(element)?;
    Ok(size == ErrorResponse::STRUCTURE_SIZE)
}

impl Body for Response<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::Negotiate(response) => response.put(out),
            Self::SessionSetup(response) => response.put(out),
            Self::Logoff(response) => response.put(out),
            Self::TreeConnect(response) => response.put(out),
            Self::TreeDisconnect(response) => response.put(out),
            Self::Create(response) => response.put(out),
            Self::Close(response) => response.put(out),
            Self::Flush(response) => response.put(out),
            Self::Read(response) => response.put(out),
            Self::Write(response) => response.put(out),
            Self::Lock(response) => response.put(out),
            Self::Ioctl(response) => response.put(out),
            Self::Echo(response) => response.put(out),
            Self::QueryDirectory(response) => response.put(out),
            Self::ChangeNotify(response) => response.put(out),
            Self::QueryInfo(response) => response.put(out),
            Self::SetInfo(response) => response.put(out),
            Self::OplockBreak(response) => response.put(out),
            Self::LeaseBreakNotification(response) => response.put(out),
            Self::LeaseBreak(response) => response.put(out),
            Self::Notification(response) => response.put(out),
            Self::Error(response) => response.put(out),
            Self::Other(_, body) => {
                out.append(body);
                Ok(())
            }
        }
    }
}
