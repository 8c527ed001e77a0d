//! What both sides have when the client is known: a key, and codes for the integrity of messages (MS-NLMP 3.4).

use alloc::vec::Vec;

use ctutils::CtEq;

use super::super::auth_error::AuthError;
use super::super::negotiate_flags::NegotiateFlags;
use super::super::secret::{Key, Secret};
use super::key::{hmac_md5, md5, rc4};
use crate::side::Side;

/// ExportedSessionKey and the flags that say how it is used.
#[derive(Debug)]
pub(super) struct Session {
    exported: Key<16>,
    flags: NegotiateFlags,
}

impl Session {
    pub(super) const fn new(exported: Key<16>, flags: NegotiateFlags) -> Self {
        Self { exported, flags }
    }

    pub(super) fn secret(&self) -> Secret {
        Secret::of_16(self.exported.bytes())
    }

    /// The MIC over all three messages, the last one with a MIC of zeros (MS-NLMP 3.1.5.1.2).
    pub(super) fn messages(&self, messages: &[&[u8]; 3]) -> [u8; 16] {
        hmac_md5(self.exported.bytes(), messages)
    }

    /// The signature of one message: mechListMIC of SPNEGO (MS-NLMP 3.4.4.2). It has the sequence number 0 and the first bytes of RC4, as
    /// the message has that comes after it (MS-SPNG 3.2.5.1, 3.3.5.1). `None` if signatures were not negotiated.
    pub(super) fn sign(&self, from: Side, message: &[u8]) -> Option<[u8; 16]> {
        let needed = NegotiateFlags::of(&[NegotiateFlags::SIGN, NegotiateFlags::EXTENDED_SESSIONSECURITY]);
        if self.flags.missing(needed).is_some() {
            return None;
        }
        const SEQUENCE: [u8; 4] = [0; 4];
        let code = hmac_md5(self.signing_key(from).bytes(), &[&SEQUENCE, message]);
        let mut checksum = *code.first_chunk::<8>()?;
        if self.flags.contains(NegotiateFlags::KEY_EXCH) {
            rc4(self.sealing_key(from).bytes(), &mut checksum);
        }
        let mut signature = [0; 16];
        let bytes = [1, 0, 0, 0].into_iter().chain(checksum).chain(SEQUENCE);
        for (to, from) in signature.iter_mut().zip(bytes) {
            *to = from;
        }
        Some(signature)
    }

    pub(super) fn mic(&self, from: Side, message: &[u8]) -> Option<Vec<u8>> {
        self.sign(from, message).map(|signature| signature.to_vec())
    }

    pub(super) fn verify(&self, from: Side, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        let expected = self.sign(from, message).ok_or(AuthError::BadMic)?;
        if expected.as_slice().ct_eq(mic).to_bool() { Ok(()) } else { Err(AuthError::BadMic) }
    }

    /// SIGNKEY (MS-NLMP 3.4.5.2).
    fn signing_key(&self, from: Side) -> Key<16> {
        let magic: &[u8] = match from {
            Side::Client => b"session key to client-to-server signing key magic constant\0",
            Side::Server => b"session key to server-to-client signing key magic constant\0",
        };
        md5(&[self.exported.bytes(), magic])
    }

    /// SEALKEY (MS-NLMP 3.4.5.3).
    fn sealing_key(&self, from: Side) -> Key<16> {
        let strength = if self.flags.contains(NegotiateFlags::KEY_128) {
            16
        } else if self.flags.contains(NegotiateFlags::KEY_56) {
            7
        } else {
            5
        };
        let magic: &[u8] = match from {
            Side::Client => b"session key to client-to-server sealing key magic constant\0",
            Side::Server => b"session key to server-to-client sealing key magic constant\0",
        };
        md5(&[self.exported.bytes().get(..strength).unwrap_or_default(), magic])
    }
}
