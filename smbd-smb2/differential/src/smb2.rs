//! The crate `smb2`: a header, and a type for each body.

use smb2::msg::*;
use smb2::pack::{Pack, ReadCursor, Unpack, WriteCursor};
use smbd_smb2::wire::Command;

use crate::{Again, Kind};

fn through<T: Pack + Unpack>(element: &[u8]) -> Again {
    let mut cursor = ReadCursor::new(element);
    let header = Header::unpack(&mut cursor).map_err(|error| error.to_string())?;
    let body = T::unpack(&mut cursor).map_err(|error| error.to_string())?;
    let mut out = WriteCursor::new();
    header.pack(&mut out);
    body.pack(&mut out);
    Ok(out.into_inner())
}

/// An answer that is a failure.
pub fn failure(element: &[u8]) -> Again {
    through::<ErrorResponse>(element)
}

/// `None` if it has no type for the message.
pub fn again(element: &[u8], kind: Kind) -> Option<Again> {
    let through = match kind {
        (Command::NEGOTIATE, false) => through::<negotiate::NegotiateRequest>,
        (Command::NEGOTIATE, true) => through::<negotiate::NegotiateResponse>,
        (Command::SESSION_SETUP, false) => through::<session_setup::SessionSetupRequest>,
        (Command::SESSION_SETUP, true) => through::<session_setup::SessionSetupResponse>,
        (Command::LOGOFF, false) => through::<logoff::LogoffRequest>,
        (Command::LOGOFF, true) => through::<logoff::LogoffResponse>,
        (Command::TREE_CONNECT, false) => through::<tree_connect::TreeConnectRequest>,
        (Command::TREE_CONNECT, true) => through::<tree_connect::TreeConnectResponse>,
        (Command::TREE_DISCONNECT, false) => through::<tree_disconnect::TreeDisconnectRequest>,
        (Command::TREE_DISCONNECT, true) => through::<tree_disconnect::TreeDisconnectResponse>,
        (Command::CREATE, false) => through::<create::CreateRequest>,
        (Command::CREATE, true) => through::<create::CreateResponse>,
        (Command::CLOSE, false) => through::<close::CloseRequest>,
        (Command::CLOSE, true) => through::<close::CloseResponse>,
        (Command::FLUSH, false) => through::<flush::FlushRequest>,
        (Command::FLUSH, true) => through::<flush::FlushResponse>,
        (Command::READ, false) => through::<read::ReadRequest>,
        (Command::READ, true) => through::<read::ReadResponse>,
        (Command::WRITE, false) => through::<write::WriteRequest>,
        (Command::WRITE, true) => through::<write::WriteResponse>,
        (Command::LOCK, false) => through::<lock::LockRequest>,
        (Command::LOCK, true) => through::<lock::LockResponse>,
        (Command::IOCTL, false) => through::<ioctl::IoctlRequest>,
        (Command::IOCTL, true) => through::<ioctl::IoctlResponse>,
        (Command::CANCEL, false) => through::<cancel::CancelRequest>,
        (Command::ECHO, false) => through::<echo::EchoRequest>,
        (Command::ECHO, true) => through::<echo::EchoResponse>,
        (Command::QUERY_DIRECTORY, false) => through::<query_directory::QueryDirectoryRequest>,
        (Command::QUERY_DIRECTORY, true) => through::<query_directory::QueryDirectoryResponse>,
        (Command::CHANGE_NOTIFY, false) => through::<change_notify::ChangeNotifyRequest>,
        (Command::CHANGE_NOTIFY, true) => through::<change_notify::ChangeNotifyResponse>,
        (Command::QUERY_INFO, false) => through::<query_info::QueryInfoRequest>,
        (Command::QUERY_INFO, true) => through::<query_info::QueryInfoResponse>,
        (Command::SET_INFO, false) => through::<set_info::SetInfoRequest>,
        (Command::SET_INFO, true) => through::<set_info::SetInfoResponse>,
        (Command::OPLOCK_BREAK, _) => through::<oplock_break::OplockBreak>,
        _ => return None,
    };
    Some(through(element))
}
