//! Encrypted messages (3.1.4.3, 3.2.5.1.1.1, 3.3.5.2.1.1), and encrypted data that go by RDMA (3.2.4.7, 3.3.5.12).

use super::cipher::{CipherKey, total};
use super::counter::Counter;
use super::error::SecurityError;
use super::rdma::{self, RdmaSignature};
use super::secret::{Key, wipe_stack};
use crate::wire::{Cipher, RdmaCryptoTransform, SessionId, TransformFlags, transform};

/// Session.EncryptionKey: encrypts the messages that one side of a session sends, and its data that go by RDMA, over all channels.
///
/// It counts its uses, and each has a nonce of its own. So there is one for a session, and it stays when the session is authenticated
/// again, which makes no new keys.
///
/// Other channels of the session have one each, which [`Self::channel`] makes. All have the same key, and a count of their own: the nonce
/// is the count and the number of the channel, so no two are equal and nobody has to ask the others (SE-11).
#[derive(Debug)]
pub struct Sealer {
    key: CipherKey,
    counter: Counter,
    lane: Lane,
}

/// Which part of the nonces is a sealer's own.
#[derive(Clone, Copy, Debug)]
enum Lane {
    /// That of the session's first channel, with the number 0. It knows how many others there were.
    First { others: u16 },
    /// That of another one.
    Other { number: u16 },
}

impl Lane {
    const FIRST: Self = Self::First { others: 0 };

    const fn number(self) -> u16 {
        match self {
            Self::First { .. } => 0,
            Self::Other { number } => number,
        }
    }
}

impl Sealer {
    /// With a key of 16 or 32 bytes, as the cipher has it. Never twice with the same key: its nonces begin from the start.
    ///
    /// # Errors
    /// [`SecurityError::UnknownCipher`], [`SecurityError::KeyLength`].
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, SecurityError> {
        Ok(Self { key: cipher_key(cipher, key)?, counter: Counter::new(), lane: Lane::FIRST })
    }

    pub(super) fn derived(cipher: Cipher, key: &Key<32>) -> Result<Self, SecurityError> {
        Ok(Self { key: CipherKey::new(cipher, key)?, counter: Counter::new(), lane: Lane::FIRST })
    }

    /// For another channel of the session, which is told by a number that no other has: 65,535 times. Only that of the first channel
    /// makes others. A limit of this one is one of the other's own as well.
    ///
    /// # Errors
    /// [`SecurityError::Channels`].
    pub fn channel(&mut self) -> Result<Self, SecurityError> {
        let Lane::First { others } = self.lane else { return Err(SecurityError::Channels) };
        let number = others.checked_add(1).ok_or(SecurityError::Channels)?;
        self.lane = Lane::First { others: number };
        let lane = Lane::Other { number };
        Ok(Self { key: self.key.clone(), counter: self.counter.again(), lane })
    }

    /// The cipher.
    #[must_use]
    pub fn cipher(&self) -> Cipher {
        self.key.cipher()
    }

    /// How often the key was used.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.counter.used()
    }

    /// Lets the key be used so often and no more. Without this, until a 64-bit counter ends. A limit is never raised.
    pub fn limit(&mut self, uses: u64) {
        self.counter.limit(uses);
    }

    /// Encrypts a message in place. Its pieces, in order, are what follows the header that is returned, on the wire.
    ///
    /// # Errors
    /// [`SecurityError::Empty`], [`SecurityError::TooLong`], [`SecurityError::Exhausted`]. The message is as it was then.
    pub fn seal_message(
        &mut self,
        session_id: SessionId,
        pieces: &mut [&mut [u8]],
    ) -> Result<[u8; transform::LEN], SecurityError> {
        let size = total(pieces)?;
        if size == 0 {
            return Err(SecurityError::Empty);
        }
        let mut header = [0; transform::LEN];
        let nonce = self.next_nonce()?;
        let mut field = [0; 16];
        copy(&mut field, &nonce);
        transform::field::PROTOCOL_ID.set(&mut header, transform::PROTOCOL_ID)?;
        transform::field::NONCE.set(&mut header, field)?;
        transform::field::ORIGINAL_MESSAGE_SIZE.set(&mut header, size)?;
        transform::field::FLAGS.set(&mut header, TransformFlags::ENCRYPTED)?;
        transform::field::SESSION_ID.set(&mut header, session_id)?;
        let tag = self.key.seal(&nonce, authenticated(&header), pieces)?;
        transform::field::SIGNATURE.set(&mut header, tag)?;
        Ok(header)
    }

    /// Encrypts data in place that go by RDMA (3.2.4.7, 3.3.5.12). Only the data are authenticated: the message that carries signature
    /// and nonce is encrypted itself.
    ///
    /// # Errors
    /// [`SecurityError::TooLong`], [`SecurityError::Exhausted`]. The data are as they were then.
    pub fn seal_rdma(&mut self, pieces: &mut [&mut [u8]]) -> Result<RdmaSignature, SecurityError> {
        total(pieces)?;
        // SE-6
        let nonce = self.next_nonce()?;
        // SE-7
        let signature = self.key.seal(&nonce, &[], pieces)?;
        Ok(RdmaSignature::new(signature, nonce, self.key.nonce_len()))
    }

    /// Encrypts data that go by RDMA to another place, and leaves them as they are. `into` is as long as they are together.
    ///
    /// # Errors
    /// As [`Self::seal_rdma`], and [`SecurityError::Room`]. Nothing was written then.
    pub fn seal_rdma_into(
        &mut self,
        from: &[&[u8]],
        into: &mut [u8],
    ) -> Result<RdmaSignature, SecurityError> {
        let len = from.iter().fold(0, |len: u64, piece| len.saturating_add(piece.len() as u64));
        let room = into.len() as u64;
        if len != room {
            return Err(SecurityError::Room { len, room });
        }
        let size = total(&[&mut *into])?;
        // SE-6
        let nonce = self.next_nonce()?;
        // SE-7
        let signature = self.key.seal_into(&nonce, from, into, size);
        Ok(RdmaSignature::new(signature, nonce, self.key.nonce_len()))
    }

    /// The count, the number of the channel, and zeros: those behind the nonce of CCM are the reserved bytes of 2.2.41.
    fn next_nonce(&mut self) -> Result<[u8; 12], SecurityError> {
        let [a, b, c, d, e, f, g, h] = self.counter.take()?.to_le_bytes();
        let [low, high] = self.lane.number().to_le_bytes();
        Ok([a, b, c, d, e, f, g, h, low, high, 0, 0])
    }
}

/// Session.DecryptionKey: decrypts what the other side of a session sends, over all channels. Clones do the same.
#[derive(Clone, Debug)]
pub struct Opener {
    key: CipherKey,
}

impl Opener {
    /// With a key of 16 or 32 bytes, as the cipher has it.
    ///
    /// # Errors
    /// [`SecurityError::UnknownCipher`], [`SecurityError::KeyLength`].
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, SecurityError> {
        Ok(Self { key: cipher_key(cipher, key)? })
    }

    pub(super) fn derived(cipher: Cipher, key: &Key<32>) -> Result<Self, SecurityError> {
        Ok(Self { key: CipherKey::new(cipher, key)? })
    }

    /// The cipher.
    #[must_use]
    pub fn cipher(&self) -> Cipher {
        self.key.cipher()
    }

    /// Decrypts a message in place. `header` begins with its SMB2 TRANSFORM_HEADER, by whose SessionId this key was found; `pieces` are
    /// all that came behind it.
    ///
    /// # Errors
    /// [`SecurityError::BadEncryption`] if it is not what was encrypted: all bytes are 0 then. [`SecurityError::Empty`],
    /// [`SecurityError::Flags`], [`SecurityError::Size`], [`SecurityError::Wire`] before anything is decrypted. The connection ends
    /// after each of them.
    pub fn open_message(&self, header: &[u8], pieces: &mut [&mut [u8]]) -> Result<(), SecurityError> {
        transform::field::LAYOUT.check(header)?;
        let flags = transform::field::FLAGS.get(header)?;
        if flags != TransformFlags::ENCRYPTED {
            return Err(SecurityError::Flags(flags.0));
        }
        let (stated, got) = (transform::field::ORIGINAL_MESSAGE_SIZE.get(header)?, total(pieces)?);
        if got == 0 {
            return Err(SecurityError::Empty);
        }
        if stated != got {
            return Err(SecurityError::Size { stated, got: got.into() });
        }
        let mut nonce = [0; 12];
        copy(&mut nonce, &transform::field::NONCE.get(header)?);
        let tag = transform::field::SIGNATURE.get(header)?;
        self.key.open(&nonce, authenticated(header), pieces, &tag)
    }

    /// What SMB2_RDMA_CRYPTO_TRANSFORM has for [`Self::open_rdma`], if it has the lengths of this cipher.
    ///
    /// # Errors
    /// [`SecurityError::NonceLength`], [`SecurityError::SignatureLength`].
    pub fn rdma_signature(&self, crypto: &RdmaCryptoTransform<'_>) -> Result<RdmaSignature, SecurityError> {
        RdmaSignature::of(crypto, self.key.nonce_len())
    }

    /// Decrypts data in place that came by RDMA, with Nonce and Signature of SMB2_RDMA_CRYPTO_TRANSFORM. Remote access to them has
    /// ended before.
    ///
    /// # Errors
    /// [`SecurityError::BadEncryption`]: all bytes are 0 then. [`SecurityError::NonceLength`], [`SecurityError::SignatureLength`],
    /// [`SecurityError::TooLong`]: nothing was decrypted.
    pub fn open_rdma(
        &self,
        nonce: &[u8],
        signature: &[u8],
        pieces: &mut [&mut [u8]],
    ) -> Result<(), SecurityError> {
        let (nonce, signature) = rdma::received(nonce, self.key.nonce_len(), signature)?;
        self.key.open(&nonce, &[], pieces, &signature)
    }
}

/// What of the header is authenticated (3.1.4.3, SE-10).
fn authenticated(header: &[u8]) -> &[u8] {
    header.get(transform::AUTHENTICATED).unwrap_or_default()
}

fn cipher_key(cipher: Cipher, key: &[u8]) -> Result<CipherKey, SecurityError> {
    let expected = CipherKey::key_len(cipher)?;
    if key.len() != expected {
        return Err(SecurityError::KeyLength { got: key.len(), expected });
    }
    let key = CipherKey::new(cipher, &Key::padded(key));
    wipe_stack();
    key
}

fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}
