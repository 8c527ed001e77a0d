//! The four ciphers of 2.2.3.1.2.

use alloc::sync::Arc;
use core::fmt;

use aes::cipher::KeyInit;
use aes::{Aes128, Aes256};
use ctutils::CtEq;

use super::super::error::SecurityError;
use super::super::secret::{Key, wipe_stack};
use super::ccm::Direction;
use super::copied::Copied;
use super::gcm::Hash;
use super::stream::STEP;
use super::{ccm, gcm};
use crate::wire::Cipher;

/// What authenticates encrypted data.
pub(in super::super) type Tag = [u8; 16];

/// The most bytes of one message or transfer: OriginalMessageSize has 32 bits (2.2.41), and so have lengths and counters of the modes.
const LEN_MAX: u64 = u32::MAX as u64;

/// The length of pieces together, which a message or transfer can have.
pub(in super::super) fn total(pieces: &[&mut [u8]]) -> Result<u32, SecurityError> {
    let len = pieces.iter().fold(0, |len: u64, piece| len.saturating_add(piece.len() as u64));
    u32::try_from(len).map_err(|_| SecurityError::TooLong { len, max: LEN_MAX })
}

/// A key of one cipher. Clones share it: there is one of it in memory, it does not move, and it is wiped when the last of them is dropped.
#[derive(Clone)]
pub(in super::super) struct CipherKey(Mode);

/// Each has memory of its own size: in the rest of a larger one would be what was on the stack.
#[derive(Clone)]
enum Mode {
    Ccm128(Arc<Aes128>),
    Ccm256(Arc<Aes256>),
    Gcm128(Arc<(Aes128, Hash)>),
    Gcm256(Arc<(Aes256, Hash)>),
}

impl Drop for CipherKey {
    /// What it shares wipes itself.
    fn drop(&mut self) {
        wipe_stack();
    }
}

impl CipherKey {
    /// The key for this cipher: its first 16 bytes if it has no longer one.
    #[inline(never)]
    pub(in super::super) fn new(cipher: Cipher, key: &Key<32>) -> Result<Self, SecurityError> {
        let short = || {
            let (key, _) =
                key.bytes().split_first_chunk::<16>().ok_or(SecurityError::UnknownCipher(cipher))?;
            Ok::<_, SecurityError>(Aes128::new(key.into()))
        };
        let long = || Aes256::new(key.bytes().into());
        Ok(Self(match cipher {
            Cipher::AES_128_CCM => Mode::Ccm128(Arc::new(short()?)),
            Cipher::AES_256_CCM => Mode::Ccm256(Arc::new(long())),
            Cipher::AES_128_GCM => {
                let aes = short()?;
                let hash = Hash::new(&aes);
                Mode::Gcm128(Arc::new((aes, hash)))
            }
            Cipher::AES_256_GCM => {
                let aes = long();
                let hash = Hash::new(&aes);
                Mode::Gcm256(Arc::new((aes, hash)))
            }
            other => return Err(SecurityError::UnknownCipher(other)),
        }))
    }

    /// Length of the cipher's keys in bytes (3.1.4.2).
    pub(in super::super) fn key_len(cipher: Cipher) -> Result<usize, SecurityError> {
        match cipher {
            Cipher::AES_128_CCM | Cipher::AES_128_GCM => Ok(16),
            Cipher::AES_256_CCM | Cipher::AES_256_GCM => Ok(32),
            other => Err(SecurityError::UnknownCipher(other)),
        }
    }

    pub(in super::super) fn cipher(&self) -> Cipher {
        match self.0 {
            Mode::Ccm128(_) => Cipher::AES_128_CCM,
            Mode::Ccm256(_) => Cipher::AES_256_CCM,
            Mode::Gcm128(_) => Cipher::AES_128_GCM,
            Mode::Gcm256(_) => Cipher::AES_256_GCM,
        }
    }

    /// Length of a nonce in bytes (2.2.41).
    pub(in super::super) fn nonce_len(&self) -> usize {
        match self.0 {
            Mode::Ccm128(_) | Mode::Ccm256(_) => 11,
            Mode::Gcm128(_) | Mode::Gcm256(_) => 12,
        }
    }

    /// Encrypts the pieces in place. Of `nonce`, CCM takes the first 11 bytes. Nothing is changed on an error.
    pub(in super::super) fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        pieces: &mut [&mut [u8]],
    ) -> Result<Tag, SecurityError> {
        let len = total(pieces)?;
        let parts = pieces.iter_mut().flat_map(|piece| piece.chunks_mut(STEP));
        Ok(self.seal_parts(nonce, associated, parts, len))
    }

    /// Encrypts `from` into as many bytes of `into`, and leaves `from` as it is.
    pub(in super::super) fn seal_into(
        &self,
        nonce: &[u8; 12],
        from: &[&[u8]],
        into: &mut [u8],
        len: u32,
    ) -> Tag {
        self.seal_parts(nonce, &[], Copied::new(from, into), len)
    }

    /// Encrypts parts, each of which is in the first cache.
    fn seal_parts<'p>(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        parts: impl Iterator<Item = &'p mut [u8]>,
        len: u32,
    ) -> Tag {
        match &self.0 {
            Mode::Ccm128(aes) => ccm::run(&**aes, Direction::Seal, (shorter(nonce), associated), parts, len),
            Mode::Ccm256(aes) => ccm::run(&**aes, Direction::Seal, (shorter(nonce), associated), parts, len),
            Mode::Gcm128(key) => gcm::seal((&key.0, &key.1), nonce, associated, parts),
            Mode::Gcm256(key) => gcm::seal((&key.0, &key.1), nonce, associated, parts),
        }
    }

    /// Decrypts the pieces in place. If the tag is another one, all bytes are 0 afterwards.
    pub(in super::super) fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        pieces: &mut [&mut [u8]],
        tag: &Tag,
    ) -> Result<(), SecurityError> {
        let len = total(pieces)?;
        let parts = pieces.iter_mut().map(|piece| &mut **piece);
        let expected = match &self.0 {
            Mode::Ccm128(aes) => ccm::run(&**aes, Direction::Open, (shorter(nonce), associated), parts, len),
            Mode::Ccm256(aes) => ccm::run(&**aes, Direction::Open, (shorter(nonce), associated), parts, len),
            Mode::Gcm128(key) => gcm::expected((&key.0, &key.1), nonce, associated, pieces),
            Mode::Gcm256(key) => gcm::expected((&key.0, &key.1), nonce, associated, pieces),
        };
        if !expected.ct_eq(tag).to_bool() {
            pieces.iter_mut().for_each(|piece| piece.fill(0));
            return Err(SecurityError::BadEncryption);
        }
        match &self.0 {
            // Decrypted above: CCM authenticates what it is before it is encrypted.
            Mode::Ccm128(_) | Mode::Ccm256(_) => {}
            Mode::Gcm128(key) => gcm::decrypt(&key.0, nonce, pieces),
            Mode::Gcm256(key) => gcm::decrypt(&key.0, nonce, pieces),
        }
        Ok(())
    }
}

fn shorter(nonce: &[u8; 12]) -> &[u8; 11] {
    nonce.first_chunk().unwrap_or(&[0; 11])
}

impl fmt::Debug for CipherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CipherKey({})", self.cipher())
    }
}
