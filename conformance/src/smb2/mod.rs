//! SMB2 as far as the suite speaks it: a client and a server with a session of a guest or a user, no I/O.

pub mod client;
mod late;
pub mod server;
mod transform;

use client::FILE;
pub(crate) use late::announced;
use server::{Files, Options};
use smbd_smb2::wire::{Command, Elements, WireError, WriteRequest};
pub(crate) use transform::{Crypto, Info, structure};

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

/// The file that a client is to read, besides [`FILE`].
const SOURCE: &str = "in";
/// Its length in bytes: 1 TiB of zeros, of which none takes memory.
const SOURCE_LEN: u64 = 1 << 40;

/// A share with files that are longer than anybody reads.
#[must_use]
pub fn share_to_copy() -> Options {
    let mut files = Files::new();
    for name in [SOURCE, FILE] {
        let put = files.put_zeros(name, SOURCE_LEN);
        debug_assert_eq!(put, Ok(()), "an empty folder has room for two files");
    }
    Options { files, ..Options::default() }
}
