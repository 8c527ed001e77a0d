//! SMB2 as far as the suite speaks it: a client and a server with a guest session, no I/O, no cryptography.

pub mod client;
pub mod server;

use smbd_smb2::wire::{Command, Elements, WireError, WriteRequest};

/// Bytes of a READ Response before its content.
pub const READ_RESPONSE_LEN: usize = 80;
/// Bytes of a WRITE Request before its content.
pub const WRITE_REQUEST_LEN: usize = 112;

/// The content of the first WRITE Request of a message that carries it itself, if there is one.
///
/// # Errors
/// The message is not SMB2, or the request is wrong in itself.
pub fn first_write(message: &[u8]) -> Result<Option<&[u8]>, WireError> {
    for element in Elements::new(message) {
        let element = element?;
        if element.header.command == Command::WRITE && !element.header.is_response() {
            return WriteRequest::parse(element.bytes).map(|request| Some(request.data));
        }
    }
    Ok(None)
}
