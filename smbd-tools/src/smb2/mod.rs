//! The first exchange of SMB2 (MS-SMB2): NEGOTIATE. `smbd-ping` uses it to show that an SMB2 server answers over SMB
//! Direct.
//!
//! No more than that: a request with all dialects from 2.0.2 to 3.1.1 and the contexts that 3.1.1 requires, and a
//! checked response, in the messages of [`smbd_smb2::wire`]. The server's side exists for tests against real clients.

mod request;
mod response;
mod spnego;

use smbd_smb2::wire::{self, HashAlgorithm, Header, List, NegotiateContext, NegotiateContexts, WireError};
use thiserror::Error;

pub use request::NegotiateRequest;
pub use response::{ErrorResponse, NegotiateResponse, Response};
pub use smbd_smb2::wire::{Capabilities, Cipher, Dialect, Guid};
pub use spnego::ntlmssp_offer;

/// How many bytes of salt the preauthentication hash gets.
const SALT_LEN: usize = 32;

/// A received message is not valid. Names the field and the value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Nonsense {
    /// It breaks the format.
    #[error(transparent)]
    Format(#[from] WireError),
    /// A field with an invalid value.
    #[error("{field} is 0x{got:x}, expected {expected}")]
    Field {
        /// Its name in MS-SMB2.
        field: &'static str,
        /// Its value.
        got: u64,
        /// The valid values.
        expected: &'static str,
    },
    /// The peer returned the request itself.
    #[error("the peer returned the request as it came: it echoes, and is no SMB2 server")]
    Echo,
}

fn check(field: &'static str, got: u64, wanted: u64, expected: &'static str) -> Result<(), Nonsense> {
    if got == wanted { Ok(()) } else { Err(Nonsense::Field { field, got, expected }) }
}

/// The header of a NEGOTIATE message.
fn read_header(message: &[u8]) -> Result<Header, Nonsense> {
    let header = Header::parse(message)?;
    check("Command", header.command.0.into(), wire::Command::NEGOTIATE.0.into(), "NEGOTIATE (0)")?;
    Ok(header)
}

/// The contexts of 3.1.1 that matter here.
fn contexts<'a>(salt: &'a [u8], ciphers: &'a [Cipher]) -> Vec<NegotiateContext<'a>> {
    let hash_algorithms = List::from(&[HashAlgorithm::SHA_512]);
    let mut contexts = vec![NegotiateContext::PreauthIntegrity { hash_algorithms, salt }];
    if !ciphers.is_empty() {
        contexts.push(NegotiateContext::Encryption(List::from(ciphers)));
    }
    contexts
}

/// The ciphers in the contexts of 3.1.1, which have to name SHA-512.
fn ciphers(contexts: NegotiateContexts<'_>, expected: &'static str) -> Result<Vec<Cipher>, Nonsense> {
    let (mut has_sha512, mut ciphers) = (false, Vec::new());
    for context in contexts.iter() {
        match context? {
            NegotiateContext::PreauthIntegrity { hash_algorithms, .. } => {
                has_sha512 |= hash_algorithms.iter().any(|hash| hash == HashAlgorithm::SHA_512);
            }
            NegotiateContext::Encryption(list) => ciphers.extend(list.iter()),
            _ => {}
        }
    }
    if has_sha512 { Ok(ciphers) } else { Err(Nonsense::Field { field: "HashAlgorithms", got: 0, expected }) }
}

#[cfg(test)]
mod tests;
