//! The keys of a session and of its channels (3.1.4.2, 3.2.5.3, 3.3.5.5).

use super::error::SecurityError;
use super::kdf::derive;
use super::preauth::PreauthHash;
use super::seal::{Opener, Sealer};
use super::secret::{Key, Secret, wipe_stack};
use super::sign::{Signer, SigningKey, Verifier};
use crate::side::Side;
use crate::wire::{Cipher, SigningAlgorithm};

/// What the keys of a session depend on, besides the key of its authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySchedule<'a> {
    /// Dialects 2.0.2 and 2.1: one key, HMAC-SHA256, no encryption.
    Smb2,
    /// Dialects 3.0 and 3.0.2: AES-CMAC, and AES-128-CCM if both sides can encrypt.
    Smb30 {
        /// Connection.SupportsEncryption.
        can_encrypt: bool,
    },
    /// Dialect 3.1.1.
    Smb311 {
        /// Connection.SigningAlgorithmId; AES-CMAC if it was not negotiated.
        signing: SigningAlgorithm,
        /// Connection.CipherId, if one was negotiated.
        cipher: Option<Cipher>,
        /// Session.PreauthIntegrityHashValue, with the last request of SESSION_SETUP and without its answer. For a channel that is
        /// bound to a session, that of the binding.
        preauth: &'a PreauthHash,
    },
}

/// The keys of a session, for one side of it. Of a session of a guest or an anonymous user there is none to be made.
#[derive(Debug)]
pub struct SessionKeys {
    /// Signs on the session's first channel.
    pub signer: Signer,
    /// Verifies on the session's first channel.
    pub verifier: Verifier,
    /// Encrypts and decrypts, on all channels; `None` if no cipher was negotiated.
    pub encryption: Option<(Sealer, Opener)>,
    /// Session.ApplicationKey, in 2.x Session.SessionKey: what applications get (3.2.4.25, 3.3.4.6).
    pub application_key: Secret,
}

impl KeySchedule<'_> {
    /// Makes the keys of a session, from the key of its authentication. Once for a session: authenticating again makes no new keys, and
    /// the same keys made twice would have the same nonces twice.
    ///
    /// # Errors
    /// [`SecurityError::UnknownSigning`], [`SecurityError::UnknownCipher`].
    pub fn session(&self, side: Side, key: &Secret) -> Result<SessionKeys, SecurityError> {
        let made = self.make(side, key);
        wipe_stack();
        made
    }

    #[inline(never)]
    fn make(&self, side: Side, key: &Secret) -> Result<SessionKeys, SecurityError> {
        let (signer, verifier) = self.signing(side, key)?;
        let application_key = match self {
            Self::Smb2 => key.session_key(),
            Self::Smb30 { .. } => derive(key.session_key().bytes(), b"SMB2APP\0", b"SmbRpc\0"),
            Self::Smb311 { preauth, .. } => {
                derive(key.session_key().bytes(), b"SMBAppKey\0", preauth.bytes())
            }
        };
        Ok(SessionKeys {
            signer,
            verifier,
            encryption: self.encryption(side, key)?,
            application_key: Secret::of_16(application_key.bytes()),
        })
    }

    /// Makes the signing key of a channel that is bound to a session (3.2.5.3.3, 3.3.5.5.2), from the key of its own authentication. The
    /// session's encryption keys stay.
    ///
    /// # Errors
    /// [`SecurityError::UnknownSigning`].
    pub fn channel(&self, side: Side, key: &Secret) -> Result<(Signer, Verifier), SecurityError> {
        let made = self.signing(side, key);
        wipe_stack();
        made
    }

    #[inline(never)]
    fn signing(&self, side: Side, key: &Secret) -> Result<(Signer, Verifier), SecurityError> {
        // Signing keys have 128 bits with every cipher (SE-1).
        let key = key.session_key();
        let (algorithm, key) = match *self {
            Self::Smb2 => (SigningAlgorithm::HMAC_SHA256, key),
            Self::Smb30 { .. } => {
                (SigningAlgorithm::AES_CMAC, derive(key.bytes(), b"SMB2AESCMAC\0", b"SmbSign\0"))
            }
            Self::Smb311 { signing, preauth, .. } => {
                (signing, derive(key.bytes(), b"SMBSigningKey\0", preauth.bytes()))
            }
        };
        Ok(SigningKey::new(algorithm, key.bytes())?.split(side))
    }

    fn encryption(&self, side: Side, key: &Secret) -> Result<Option<(Sealer, Opener)>, SecurityError> {
        // To the server and to the client.
        let (cipher, up, down) = match *self {
            Self::Smb2 | Self::Smb30 { can_encrypt: false } | Self::Smb311 { cipher: None, .. } => {
                return Ok(None);
            }
            Self::Smb30 { can_encrypt: true } => {
                let key = key.session_key();
                let direction = |context| short(key.bytes(), b"SMB2AESCCM\0", context);
                (Cipher::AES_128_CCM, direction(b"ServerIn \0"), direction(b"ServerOut\0"))
            }
            Self::Smb311 { cipher: Some(cipher), preauth, .. } => {
                let direction = |label| match cipher {
                    // Session.FullSessionKey, all of it.
                    Cipher::AES_256_CCM | Cipher::AES_256_GCM => derive(key.expose(), label, preauth.bytes()),
                    _ => short(key.session_key().bytes(), label, preauth.bytes()),
                };
                (cipher, direction(b"SMBC2SCipherKey\0"), direction(b"SMBS2CCipherKey\0"))
            }
        };
        let (own, other) = match side {
            Side::Client => (up, down),
            Side::Server => (down, up),
        };
        Ok(Some((Sealer::derived(cipher, &own)?, Opener::derived(cipher, &other)?)))
    }
}

/// A key of 128 bits, with room behind it.
fn short(key: &[u8; 16], label: &[u8], context: &[u8]) -> Key<32> {
    Key::padded(derive::<16>(key, label, context).bytes())
}
