//! Which client a connection is of, before a server has it.

use crate::wire::{Command, Dialect, Guid, Header, Message, NegotiateRequest};

/// The ClientGuid of a NEGOTIATE that offers SMB 3.x. Nothing of any other message, and of one whose ClientGuid is zero, which names nobody.
///
/// Connections with the same ClientGuid are those of one client, and can have sessions in common (3.3.5.5): a driver gives each to the
/// [`Client`](super::Client) with this ClientGuid, by [`Client::join`](super::Client::join), and begins another if there is none. It
/// looks at the first message of a connection; one that begins with SMB1 may stay alone, and no session is bound to it.
///
/// ```
/// use smbd_smb2::server::client_guid;
/// use smbd_smb2::wire::{Dialect, EchoRequest, Guid, Header, List, NegotiateRequest, write_element};
///
/// let request =
///     NegotiateRequest { dialects: List::from(&[Dialect::SMB_3_1_1]), client_guid: Guid([7; 16]), ..NegotiateRequest::default() };
/// let mut message = Vec::new();
/// write_element(&mut message, &Header::request::<NegotiateRequest>(0), &request)?;
/// assert_eq!(client_guid(&message), Some(Guid([7; 16])));
///
/// let mut message = Vec::new();
/// write_element(&mut message, &Header::request::<EchoRequest>(0), &EchoRequest::default())?;
/// assert_eq!(client_guid(&message), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn client_guid(message: &[u8]) -> Option<Guid> {
    let Ok(Message::Smb2(_)) = Message::parse(message) else { return None };
    let header = Header::parse(message).ok()?;
    if header.command != Command::NEGOTIATE || header.is_response() {
        return None;
    }
    let request = NegotiateRequest::parse(message).ok()?;
    let knows_channels = request.dialects.iter().any(|dialect| dialect >= Dialect::SMB_3_0);
    Some(request.client_guid).filter(|guid| knows_channels && *guid != Guid([0; 16]))
}
