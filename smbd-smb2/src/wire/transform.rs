//! The header of an encrypted message (2.2.41). Nothing is decrypted here.

use alloc::vec::Vec;

use super::error::WireError;
use super::id::SessionId;
use super::layout::layout;
use super::names::flags;
use super::reader;
use super::writer::Writer;

/// ProtocolId of an encrypted message.
pub const PROTOCOL_ID: [u8; 4] = *b"\xfdSMB";

flags! {
    /// How the message was changed (2.2.41): flags in 3.1.1, an algorithm in 3.0 and 3.0.2, with the same single value.
    pub struct TransformFlags(u16) {
        ENCRYPTED = 0x0001 "ENCRYPTED",
    }
}

layout! {
    /// Fields of the header (2.2.41).
    pub mod field: "TRANSFORM_HEADER", "2.2.41", from 0;
    PROTOCOL_ID: [u8; 4] = "ProtocolId" at 0;
    SIGNATURE: [u8; 16] = "Signature" at 4;
    NONCE: [u8; 16] = "Nonce" at 20;
    ORIGINAL_MESSAGE_SIZE: u32 = "OriginalMessageSize" at 36;
    RESERVED: u16 = "Reserved" at 40;
    FLAGS: TransformFlags = "Flags/EncryptionAlgorithm" at 42;
    SESSION_ID: SessionId = "SessionId" at 44;
}

/// Size of the header in bytes.
pub const LEN: usize = 52;

/// What of the header is authenticated with the message, in bytes from its beginning: all behind Signature (3.1.4.3).
pub const AUTHENTICATED: core::ops::Range<usize> = 20..LEN;

/// An encrypted message (2.2.41).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transform<'a> {
    /// What the cipher makes to authenticate the message.
    pub signature: [u8; 16],
    /// The nonce: the first 11 bytes for CCM, the first 12 for GCM.
    pub nonce: [u8; 16],
    /// Size of the message within, in bytes.
    pub original_message_size: u32,
    /// Flags.
    pub flags: TransformFlags,
    /// The session whose key it is.
    pub session_id: SessionId,
    /// The message, encrypted.
    pub encrypted: &'a [u8],
}

impl<'a> Transform<'a> {
    /// Reads a message. Whether `encrypted` is as long as OriginalMessageSize says is for the receiver to check.
    ///
    /// # Errors
    /// The header is not complete, or has another ProtocolId.
    pub fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(message)?;
        reader::protocol(message, &field::PROTOCOL_ID, PROTOCOL_ID)?;
        Ok(Self {
            signature: field::SIGNATURE.get(message)?,
            nonce: field::NONCE.get(message)?,
            original_message_size: field::ORIGINAL_MESSAGE_SIZE.get(message)?,
            flags: field::FLAGS.get(message)?,
            session_id: field::SESSION_ID.get(message)?,
            encrypted: message.get(LEN..).unwrap_or_default(),
        })
    }

    /// Appends the message.
    ///
    /// # Errors
    /// None that could come: the fields have room for all values.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut out = Writer::new(out);
        out.begin(&field::LAYOUT);
        out.set(&field::PROTOCOL_ID, PROTOCOL_ID)?;
        out.set(&field::SIGNATURE, self.signature)?;
        out.set(&field::NONCE, self.nonce)?;
        out.set(&field::ORIGINAL_MESSAGE_SIZE, self.original_message_size)?;
        out.set(&field::FLAGS, self.flags)?;
        out.set(&field::SESSION_ID, self.session_id)?;
        out.append(self.encrypted);
        Ok(())
    }
}
