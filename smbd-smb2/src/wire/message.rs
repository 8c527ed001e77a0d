//! What a received message is.

use super::compound::Elements;
use super::compression::{self, Compressed};
use super::error::WireError;
use super::header;
use super::smb1::{self, Smb1Negotiate};
use super::transform::{self, Transform};

/// A received message, by its first bytes.
#[derive(Clone, Debug)]
pub enum Message<'a> {
    /// One or more elements, each with an SMB2 header.
    Smb2(Elements<'a>),
    /// An encrypted message (2.2.41).
    Transform(Transform<'a>),
    /// A compressed message (2.2.42).
    Compressed(Compressed<'a>),
    /// A NEGOTIATE of SMB1 that offers SMB2 as well (3.3.5.3).
    Smb1Negotiate(Smb1Negotiate<'a>),
    /// None of these.
    Other(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Tells a message by its first four bytes, and reads the header of a transform, a compression or SMB1.
    ///
    /// # Errors
    /// The rest of such a header cannot be read. The elements of an SMB2 message are checked when they are iterated.
    pub fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        Ok(match message.first_chunk() {
            Some(&header::PROTOCOL_ID) => Self::Smb2(Elements::new(message)),
            Some(&transform::PROTOCOL_ID) => Self::Transform(Transform::parse(message)?),
            Some(&compression::PROTOCOL_ID) => Self::Compressed(Compressed::parse(message)?),
            Some(&smb1::PROTOCOL_ID) if smb1::is_negotiate(message) => {
                Self::Smb1Negotiate(Smb1Negotiate::parse(message)?)
            }
            _ => Self::Other(message),
        })
    }
}
