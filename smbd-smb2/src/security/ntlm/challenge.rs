//! CHALLENGE_MESSAGE (MS-NLMP 2.2.1.2).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::super::negotiate_flags::NegotiateFlags;
use super::message::{self, Builder, VERSION};
use super::text::utf16;
use crate::wire::layout::layout;
use crate::wire::{Text, reader};

layout! {
    /// Fields of the message, without VERSION, which old servers leave out.
    pub mod field: "CHALLENGE_MESSAGE", "MS-NLMP 2.2.1.2", from 0;
    SIGNATURE: [u8; 8] = "Signature" at 0;
    MESSAGE_TYPE: u32 = "MessageType" at 8;
    TARGET_NAME_LEN: u16 = "TargetNameLen" at 12;
    TARGET_NAME_MAX_LEN: u16 = "TargetNameMaxLen" at 14;
    TARGET_NAME_OFFSET: u32 = "TargetNameBufferOffset" at 16;
    NEGOTIATE_FLAGS: NegotiateFlags = "NegotiateFlags" at 20;
    SERVER_CHALLENGE: [u8; 8] = "ServerChallenge" at 24;
    RESERVED: u64 = "Reserved" at 32;
    TARGET_INFO_LEN: u16 = "TargetInfoLen" at 40;
    TARGET_INFO_MAX_LEN: u16 = "TargetInfoMaxLen" at 42;
    TARGET_INFO_OFFSET: u32 = "TargetInfoBufferOffset" at 44;
}

const MESSAGE_TYPE: u32 = 2;

/// The server's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChallengeMessage<'a> {
    /// TargetName: of the server or its domain.
    pub target_name: Text<'a>,
    /// NegotiateFlags.
    pub flags: NegotiateFlags,
    /// ServerChallenge.
    pub challenge: [u8; 8],
    /// TargetInfo: a list of AV_PAIR.
    pub target_info: &'a [u8],
}

impl<'a> ChallengeMessage<'a> {
    /// Reads the message.
    ///
    /// # Errors
    /// It is not complete, or another one, or a part lies outside.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        message::check(bytes, MESSAGE_TYPE)?;
        field::LAYOUT.check(bytes)?;
        let name = (&field::TARGET_NAME_OFFSET, &field::TARGET_NAME_LEN);
        let info = (&field::TARGET_INFO_OFFSET, &field::TARGET_INFO_LEN);
        Ok(Self {
            target_name: reader::part(bytes, name, &field::LAYOUT)?.into(),
            flags: field::NEGOTIATE_FLAGS.get(bytes)?,
            challenge: field::SERVER_CHALLENGE.get(bytes)?,
            target_info: reader::part(bytes, info, &field::LAYOUT)?,
        })
    }

    /// Writes the message.
    ///
    /// # Errors
    /// It would be too long.
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let mut out = Builder::new(MESSAGE_TYPE, 56);
        out.part(&utf16(self.target_name))?;
        out.field(&self.flags.0.to_le_bytes());
        out.field(&self.challenge);
        out.field(&[0; 8]);
        out.part(self.target_info)?;
        out.field(&VERSION);
        out.finish()
    }
}
