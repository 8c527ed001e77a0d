//! AUTHENTICATE_MESSAGE (MS-NLMP 2.2.1.3).

use alloc::vec::Vec;
use core::ops::Range;

use super::super::auth_error::AuthError;
use super::super::negotiate_flags::NegotiateFlags;
use super::message::{self, Builder, VERSION};
use super::text::utf16;
use crate::wire::field::Field;
use crate::wire::layout::layout;
use crate::wire::{Text, reader};

layout! {
    /// Fields that every client sends.
    pub mod field: "AUTHENTICATE_MESSAGE", "MS-NLMP 2.2.1.3", from 0;
    SIGNATURE: [u8; 8] = "Signature" at 0;
    MESSAGE_TYPE: u32 = "MessageType" at 8;
    LM_LEN: u16 = "LmChallengeResponseLen" at 12;
    LM_MAX_LEN: u16 = "LmChallengeResponseMaxLen" at 14;
    LM_OFFSET: u32 = "LmChallengeResponseBufferOffset" at 16;
    NT_LEN: u16 = "NtChallengeResponseLen" at 20;
    NT_MAX_LEN: u16 = "NtChallengeResponseMaxLen" at 22;
    NT_OFFSET: u32 = "NtChallengeResponseBufferOffset" at 24;
    DOMAIN_LEN: u16 = "DomainNameLen" at 28;
    DOMAIN_MAX_LEN: u16 = "DomainNameMaxLen" at 30;
    DOMAIN_OFFSET: u32 = "DomainNameBufferOffset" at 32;
    USER_LEN: u16 = "UserNameLen" at 36;
    USER_MAX_LEN: u16 = "UserNameMaxLen" at 38;
    USER_OFFSET: u32 = "UserNameBufferOffset" at 40;
    WORKSTATION_LEN: u16 = "WorkstationLen" at 44;
    WORKSTATION_MAX_LEN: u16 = "WorkstationMaxLen" at 46;
    WORKSTATION_OFFSET: u32 = "WorkstationBufferOffset" at 48;
    KEY_LEN: u16 = "EncryptedRandomSessionKeyLen" at 52;
    KEY_MAX_LEN: u16 = "EncryptedRandomSessionKeyMaxLen" at 54;
    KEY_OFFSET: u32 = "EncryptedRandomSessionKeyBufferOffset" at 56;
    NEGOTIATE_FLAGS: NegotiateFlags = "NegotiateFlags" at 60;
}

layout! {
    /// Fields behind them, which are there if the client's AV_PAIRs say that there is a MIC.
    pub mod mic_field: "AUTHENTICATE_MESSAGE", "MS-NLMP 2.2.1.3", from 64;
    VERSION: u64 = "Version" at 0;
    MIC: [u8; 16] = "MIC" at 8;
}

const MESSAGE_TYPE: u32 = 3;

/// Where the MIC is.
pub(super) const MIC: Range<usize> = 72..88;

/// The client's second message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthenticateMessage<'a> {
    /// LmChallengeResponse.
    pub lm_response: &'a [u8],
    /// NtChallengeResponse.
    pub nt_response: &'a [u8],
    /// DomainName.
    pub domain: Text<'a>,
    /// UserName.
    pub user: Text<'a>,
    /// Workstation.
    pub workstation: Text<'a>,
    /// EncryptedRandomSessionKey.
    pub encrypted_key: &'a [u8],
    /// NegotiateFlags.
    pub flags: NegotiateFlags,
}

impl<'a> AuthenticateMessage<'a> {
    /// Reads the message.
    ///
    /// # Errors
    /// It is not complete, or another one, or a part lies outside.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        message::check(bytes, MESSAGE_TYPE)?;
        field::LAYOUT.check(bytes)?;
        let part = |offset: &'static Field<u32>, len: &'static Field<u16>| {
            reader::part(bytes, (offset, len), &field::LAYOUT)
        };
        Ok(Self {
            lm_response: part(&field::LM_OFFSET, &field::LM_LEN)?,
            nt_response: part(&field::NT_OFFSET, &field::NT_LEN)?,
            domain: part(&field::DOMAIN_OFFSET, &field::DOMAIN_LEN)?.into(),
            user: part(&field::USER_OFFSET, &field::USER_LEN)?.into(),
            workstation: part(&field::WORKSTATION_OFFSET, &field::WORKSTATION_LEN)?.into(),
            encrypted_key: part(&field::KEY_OFFSET, &field::KEY_LEN)?,
            flags: field::NEGOTIATE_FLAGS.get(bytes)?,
        })
    }

    /// The MIC of a message, and the message with zeros in its place.
    pub(super) fn without_mic(bytes: &[u8]) -> Result<([u8; 16], Vec<u8>), AuthError> {
        mic_field::LAYOUT.check(bytes)?;
        let mic = mic_field::MIC.get(bytes)?;
        let mut copy = bytes.to_vec();
        mic_field::MIC.set(&mut copy, [0; 16])?;
        Ok((mic, copy))
    }

    /// Writes the message, with a MIC of zeros.
    ///
    /// # Errors
    /// It would be too long.
    pub fn write(&self) -> Result<Vec<u8>, AuthError> {
        let mut out = Builder::new(MESSAGE_TYPE, MIC.end);
        out.part(self.lm_response)?;
        out.part(self.nt_response)?;
        out.part(&utf16(self.domain))?;
        out.part(&utf16(self.user))?;
        out.part(&utf16(self.workstation))?;
        out.part(self.encrypted_key)?;
        out.field(&self.flags.0.to_le_bytes());
        out.field(&VERSION);
        out.field(&[0; 16]);
        out.finish()
    }
}
