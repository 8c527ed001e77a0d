//! The three signing algorithms of 2.2.3.1.7, over pieces.

use alloc::sync::Arc;
use core::fmt;

use aes::Aes128;
use aes::cipher::KeyInit;
use cmac::Cmac;
use cmac::digest::common::InnerInit;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::super::cipher::Hash;
use super::super::error::SecurityError;
use super::super::secret::{Key, wipe_stack};
use crate::wire::SigningAlgorithm;

/// A key of 16 bytes, made ready for one algorithm. Clones share it: there is one of it in memory, it does not move, and it is wiped when
/// the last of them is dropped.
#[derive(Clone)]
pub(super) struct MacKey(Ready);

/// Each has memory of its own size: in the rest of a larger one would be what was on the stack.
#[derive(Clone)]
enum Ready {
    Hmac(Arc<Hmac<Sha256>>),
    Cmac(Arc<Aes128>),
    Gmac(Arc<(Aes128, Hash)>),
}

impl MacKey {
    #[inline(never)]
    pub(super) fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Result<Self, SecurityError> {
        let ready = match algorithm {
            SigningAlgorithm::HMAC_SHA256 => {
                Ready::Hmac(Arc::new(Hmac::new(Key::<64>::padded(key).bytes().into())))
            }
            SigningAlgorithm::AES_CMAC => Ready::Cmac(Arc::new(Aes128::new(key.into()))),
            SigningAlgorithm::AES_GMAC => {
                let aes = Aes128::new(key.into());
                let hash = Hash::new(&aes);
                Ready::Gmac(Arc::new((aes, hash)))
            }
            other => return Err(SecurityError::UnknownSigning(other)),
        };
        Ok(Self(ready))
    }

    pub(super) fn algorithm(&self) -> SigningAlgorithm {
        match self.0 {
            Ready::Hmac(_) => SigningAlgorithm::HMAC_SHA256,
            Ready::Cmac(_) => SigningAlgorithm::AES_CMAC,
            Ready::Gmac(_) => SigningAlgorithm::AES_GMAC,
        }
    }

    /// Whether the algorithm has a nonce.
    pub(super) fn has_nonce(&self) -> bool {
        matches!(self.0, Ready::Gmac(_))
    }

    /// A signature that begins. Only AES-GMAC uses the nonce.
    pub(super) fn begin(&self, nonce: [u8; 12]) -> Mac<'_> {
        match &self.0 {
            Ready::Hmac(mac) => Mac::Hmac(Hmac::clone(mac)),
            Ready::Cmac(aes) => Mac::Cmac(Cmac::inner_init(aes)),
            Ready::Gmac(key) => Mac::Gmac(&key.0, key.1.clone(), nonce),
        }
    }
}

impl Drop for MacKey {
    /// What it shares wipes itself.
    fn drop(&mut self) {
        wipe_stack();
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MacKey({})", self.algorithm())
    }
}

/// A signature that is being computed.
pub(super) enum Mac<'a> {
    Hmac(Hmac<Sha256>),
    Cmac(Cmac<&'a Aes128>),
    Gmac(&'a Aes128, Hash, [u8; 12]),
}

impl Mac<'_> {
    pub(super) fn update(&mut self, piece: &[u8]) {
        match self {
            Self::Hmac(mac) => mac.update(piece),
            Self::Cmac(mac) => mac.update(piece),
            // What is signed is associated data, and nothing is encrypted (RFC 4543).
            Self::Gmac(_, hash, _) => hash.associate(piece),
        }
    }

    pub(super) fn finish(self) -> [u8; 16] {
        match self {
            // The first half of it (3.1.4.1).
            Self::Hmac(mac) => {
                let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
                    <[u8; 32]>::from(mac.finalize().into_bytes());
                first
            }
            Self::Cmac(mac) => mac.finalize().into_bytes().into(),
            Self::Gmac(aes, hash, nonce) => hash.tag(aes, &nonce),
        }
    }
}
