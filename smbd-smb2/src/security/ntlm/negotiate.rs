//! NEGOTIATE_MESSAGE (MS-NLMP 2.2.1.1).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::super::negotiate_flags::NegotiateFlags;
use super::message::{self, Builder, VERSION};
use crate::wire::layout::layout;

layout! {
    /// Fields of the message that are read. Names of domain and workstation are for servers older than all that is here.
    pub mod field: "NEGOTIATE_MESSAGE", "MS-NLMP 2.2.1.1", from 0;
    SIGNATURE: [u8; 8] = "Signature" at 0;
    MESSAGE_TYPE: u32 = "MessageType" at 8;
    NEGOTIATE_FLAGS: NegotiateFlags = "NegotiateFlags" at 12;
}

const MESSAGE_TYPE: u32 = 1;

/// The client's first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiateMessage {
    /// NegotiateFlags.
    pub flags: NegotiateFlags,
}

impl NegotiateMessage {
    /// Reads the message.
    ///
    /// # Errors
    /// It is not complete, or another one.
    pub fn parse(bytes: &[u8]) -> Result<Self, AuthError> {
        message::check(bytes, MESSAGE_TYPE)?;
        field::LAYOUT.check(bytes)?;
        Ok(Self { flags: field::NEGOTIATE_FLAGS.get(bytes)? })
    }

    /// Writes the message.
    ///
    /// # Errors
    /// None that could come.
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let mut out = Builder::new(MESSAGE_TYPE, 40);
        out.field(&self.flags.0.to_le_bytes());
        out.part(&[])?;
        out.part(&[])?;
        out.field(&VERSION);
        out.finish()
    }
}
