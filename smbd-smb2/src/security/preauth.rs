//! The preauthentication integrity hash of 3.1.1 (3.2.5.2, 3.2.5.3.1, 3.3.5.4, 3.3.5.5).

use sha2::{Digest, Sha512};

/// PreauthIntegrityHashValue: SHA-512 over the value before and a message, beginning with zeros. It is no secret.
///
/// NEGOTIATE and its answer go into that of the connection. A copy of it takes the requests and answers of SESSION_SETUP up to the
/// last request; the successful answer is not part of it.
///
/// ```
/// use smbd_smb2::security::PreauthHash;
///
/// let mut connection = PreauthHash::new();
/// connection.update([&b"NEGOTIATE"[..]]);
/// connection.update([&b"its ans"[..], b"wer"]);
/// let mut session = connection;
/// session.update([&b"SESSION_SETUP"[..]]);
/// assert_ne!(session, connection);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreauthHash([u8; 64]);

impl PreauthHash {
    /// That of a connection without a message.
    #[must_use]
    pub const fn new() -> Self {
        Self([0; 64])
    }

    /// A value that was kept.
    #[must_use]
    pub const fn from_bytes(value: [u8; 64]) -> Self {
        Self(value)
    }

    /// Adds one message, from the beginning of its SMB2 header to its last byte, in any number of pieces.
    pub fn update<'a>(&mut self, message: impl IntoIterator<Item = &'a [u8]>) {
        let mut hash = Sha512::new_with_prefix(self.0);
        message.into_iter().for_each(|piece| hash.update(piece));
        self.0 = hash.finalize().into();
    }

    /// The value.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl Default for PreauthHash {
    fn default() -> Self {
        Self::new()
    }
}
