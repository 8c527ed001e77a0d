//! What the three messages of NTLM have in common (MS-NLMP 2.2.1).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use crate::wire::WireError;
use crate::wire::layout::layout;

/// What every message begins with.
pub(super) const SIGNATURE: [u8; 8] = *b"NTLMSSP\0";

/// The longest message, in bytes: SESSION_SETUP has 16 bits for it (2.2.5).
const LEN_MAX: usize = 65_535;

/// VERSION (MS-NLMP 2.2.2.10), which says nothing: a version of NTLM only.
pub(super) const VERSION: [u8; 8] = [0, 0, 0, 0, 0, 0, 0, 15];

layout! {
    /// Fields that each message begins with.
    pub mod field: "NTLM message", "MS-NLMP 2.2.1", from 0;
    SIGNATURE: u64 = "Signature" at 0;
    MESSAGE_TYPE: u32 = "MessageType" at 8;
}

/// Refuses what is not the message of this type.
pub(super) fn check(bytes: &[u8], message_type: u32) -> Result<(), AuthError> {
    if bytes.len() > LEN_MAX {
        return Err(AuthError::TooLong { len: bytes.len() });
    }
    field::LAYOUT.check(bytes)?;
    let (value, expected) = (field::SIGNATURE.get(bytes)?, u64::from_le_bytes(SIGNATURE));
    if value != expected {
        return Err(WireError::Value { field: field::SIGNATURE.place(), value, expected }.into());
    }
    Ok(field::MESSAGE_TYPE.expect(bytes, message_type)?)
}

/// A message that is being written: a fixed part with places of what is behind it.
pub(super) struct Builder {
    fixed: Vec<u8>,
    payload: Vec<u8>,
    fixed_len: usize,
}

impl Builder {
    /// A message of this type, whose fixed part will have so many bytes.
    pub(super) fn new(message_type: u32, fixed_len: usize) -> Self {
        let mut fixed = SIGNATURE.to_vec();
        fixed.extend_from_slice(&message_type.to_le_bytes());
        Self { fixed, payload: Vec::new(), fixed_len }
    }

    /// A field of the fixed part.
    pub(super) fn field(&mut self, bytes: &[u8]) {
        self.fixed.extend_from_slice(bytes);
    }

    /// The three fields of a part: its length twice, and its place.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn part(&mut self, bytes: &[u8]) -> Result<(), AuthError> {
        let offset = self.fixed_len.saturating_add(self.payload.len());
        let too_long = || AuthError::TooLong { len: offset.saturating_add(bytes.len()) };
        let len = u16::try_from(bytes.len()).map_err(|_| too_long())?.to_le_bytes();
        self.field(&len);
        self.field(&len);
        self.field(&u32::try_from(offset).map_err(|_| too_long())?.to_le_bytes());
        self.payload.extend_from_slice(bytes);
        Ok(())
    }

    /// The message.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, AuthError> {
        self.fixed.append(&mut self.payload);
        if self.fixed.len() > LEN_MAX {
            Err(AuthError::TooLong { len: self.fixed.len() })
        } else {
            Ok(self.fixed)
        }
    }
}
