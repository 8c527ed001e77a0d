//! The crate `smb-server`: a type for each body, which reads offsets as those from the header.

use smb_server::wire::header::Smb2Header;
use smb_server::wire::messages::*;
use smbd_smb2::wire::Command;

use crate::{Again, Kind};

/// The header by its own codec, and the body by a type of it.
macro_rules! through {
    ($element:ident, $T:ty) => {{
        let (header, mut out) = header($element)?;
        let body = <$T>::parse(header).map_err(|error| error.to_string())?;
        body.write_to(&mut out).map_err(|error| error.to_string())?;
        Ok(out)
    }};
}

/// The body's bytes, and the header as it is written again.
fn header(element: &[u8]) -> Result<(&[u8], Vec<u8>), String> {
    let (header, body) = Smb2Header::parse(element).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    header.write(&mut out).map_err(|error| error.to_string())?;
    Ok((body, out))
}

/// An answer that is a failure.
pub fn failure(element: &[u8]) -> Again {
    through!(element, ErrorResponse)
}

/// `None` if it has no type for the message.
pub fn again(element: &[u8], kind: Kind) -> Option<Again> {
    if matches!(kind, (Command::CANCEL, true)) || kind.0 > Command::OPLOCK_BREAK {
        return None;
    }
    Some(by_type(element, kind))
}

fn by_type(element: &[u8], kind: Kind) -> Again {
    // StructureSize tells breaks of leases from those of oplocks.
    let size = element.get(64).copied();
    match kind {
        (Command::NEGOTIATE, false) => through!(element, NegotiateRequest),
        (Command::NEGOTIATE, true) => through!(element, NegotiateResponse),
        (Command::SESSION_SETUP, false) => through!(element, SessionSetupRequest),
        (Command::SESSION_SETUP, true) => through!(element, SessionSetupResponse),
        (Command::LOGOFF, false) => through!(element, LogoffRequest),
        (Command::LOGOFF, true) => through!(element, LogoffResponse),
        (Command::TREE_CONNECT, false) => through!(element, TreeConnectRequest),
        (Command::TREE_CONNECT, true) => through!(element, TreeConnectResponse),
        (Command::TREE_DISCONNECT, false) => through!(element, TreeDisconnectRequest),
        (Command::TREE_DISCONNECT, true) => through!(element, TreeDisconnectResponse),
        (Command::CREATE, false) => through!(element, CreateRequest),
        (Command::CREATE, true) => through!(element, CreateResponse),
        (Command::CLOSE, false) => through!(element, CloseRequest),
        (Command::CLOSE, true) => through!(element, CloseResponse),
        (Command::FLUSH, false) => through!(element, FlushRequest),
        (Command::FLUSH, true) => through!(element, FlushResponse),
        (Command::READ, false) => through!(element, ReadRequest),
        (Command::READ, true) => through!(element, ReadResponse),
        (Command::WRITE, false) => through!(element, WriteRequest),
        (Command::WRITE, true) => through!(element, WriteResponse),
        (Command::LOCK, false) => through!(element, LockRequest),
        (Command::LOCK, true) => through!(element, LockResponse),
        (Command::IOCTL, false) => through!(element, IoctlRequest),
        (Command::IOCTL, true) => through!(element, IoctlResponse),
        (Command::CANCEL, _) => through!(element, CancelRequest),
        (Command::ECHO, false) => through!(element, EchoRequest),
        (Command::ECHO, true) => through!(element, EchoResponse),
        (Command::QUERY_DIRECTORY, false) => through!(element, QueryDirectoryRequest),
        (Command::QUERY_DIRECTORY, true) => through!(element, QueryDirectoryResponse),
        (Command::CHANGE_NOTIFY, false) => through!(element, ChangeNotifyRequest),
        (Command::CHANGE_NOTIFY, true) => through!(element, ChangeNotifyResponse),
        (Command::QUERY_INFO, false) => through!(element, QueryInfoRequest),
        (Command::QUERY_INFO, true) => through!(element, QueryInfoResponse),
        (Command::SET_INFO, false) => through!(element, SetInfoRequest),
        (Command::SET_INFO, true) => through!(element, SetInfoResponse),
        (Command::OPLOCK_BREAK, false) if size == Some(36) => through!(element, LeaseBreakAck),
        (Command::OPLOCK_BREAK, false) => through!(element, OplockBreakAck),
        // It has no other type for the answer to an acknowledgment.
        (_, _) if size == Some(36) => through!(element, LeaseBreakResponse),
        (_, _) if size == Some(44) => through!(element, LeaseBreakNotification),
        (_, _) => through!(element, OplockBreakNotification),
    }
}
