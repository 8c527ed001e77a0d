//! The key of a session, for who reads captures of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use smbd_smb2::security::{AuthError, Established, Fresh, Mechanism, NtlmClient, Secret, Step};
use smbd_smb2::wire::SessionId;

/// The key of a session: whoever has it can read everything that was said in it. Its text is a line of Wireshark's table of SMB2 session
/// keys (`smb2_seskey_list`): SessionId as it is in messages, SessionKey, and two keys that Wireshark works out itself.
#[derive(Clone, Debug)]
pub struct SessionKey {
    session_id: SessionId,
    key: Secret,
}

impl SessionKey {
    /// What a login has left.
    pub(super) fn left(session_id: SessionId, place: &Place) -> Option<Self> {
        let key = place.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Self { session_id, key })
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        hex(f, &self.session_id.0.to_le_bytes())?;
        f.write_str(",")?;
        hex(f, self.key.expose())?;
        f.write_str(",\"\",\"\"")
    }
}

/// Where a login leaves its key.
pub(super) type Place = Arc<Mutex<Option<Secret>>>;

/// NTLM that leaves its key somewhere.
pub(super) struct Leaving {
    pub(super) ntlm: NtlmClient,
    pub(super) place: Place,
}

impl Mechanism for Leaving {
    fn oids(&self) -> &[&'static [u8]] {
        self.ntlm.oids()
    }

    fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        let step = self.ntlm.step(token, fresh);
        let established = self.ntlm.established();
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) =
            established.and_then(|established| established.session_key);
        step
    }

    fn established(&self) -> Option<Established> {
        self.ntlm.established()
    }

    fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.ntlm.mic(message)
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        self.ntlm.verify_mic(message, mic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_line_of_the_table_of_wireshark() {
        let key = Secret::new(&[0x9a, 0x0e]).unwrap();
        let text = SessionKey { session_id: SessionId(0x2200_0000_0000_0041), key }.to_string();
        assert_eq!(text, "4100000000000022,9a0e,\"\",\"\"");
    }
}
