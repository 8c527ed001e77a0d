//! The three signing algorithms of 2.2.3.1.7, over pieces.

use core::fmt;

use aes::Aes128;
use aes::cipher::KeyInit;
use cmac::Cmac;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::super::cipher::Hash;
use super::super::error::SecurityError;
use super::super::secret::padded;
use crate::wire::SigningAlgorithm;

/// A key of 16 bytes, made ready for one algorithm. Copies and key schedules are wiped when they are dropped.
#[derive(Clone)]
pub(super) enum MacKey {
    Hmac(Hmac<Sha256>),
    Cmac(Cmac<Aes128>),
    Gmac(Aes128, Hash),
}

impl MacKey {
    pub(super) fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Result<Self, SecurityError> {
        match algorithm {
            SigningAlgorithm::HMAC_SHA256 => Ok(Self::Hmac(Hmac::new((&*padded::<64>(key)).into()))),
            SigningAlgorithm::AES_CMAC => Ok(Self::Cmac(Cmac::new(key.into()))),
            SigningAlgorithm::AES_GMAC => {
                let aes = Aes128::new(key.into());
                let hash = Hash::new(&aes);
                Ok(Self::Gmac(aes, hash))
            }
            other => Err(SecurityError::UnknownSigning(other)),
        }
    }

    pub(super) const fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::Hmac(_) => SigningAlgorithm::HMAC_SHA256,
            Self::Cmac(_) => SigningAlgorithm::AES_CMAC,
            Self::Gmac(..) => SigningAlgorithm::AES_GMAC,
        }
    }

    /// Whether the algorithm has a nonce.
    pub(super) const fn has_nonce(&self) -> bool {
        matches!(self, Self::Gmac(..))
    }

    /// A signature that begins. Only AES-GMAC uses the nonce.
    pub(super) fn begin(&self, nonce: [u8; 12]) -> Mac<'_> {
        match self {
            Self::Hmac(mac) => Mac::Hmac(mac.clone()),
            Self::Cmac(mac) => Mac::Cmac(mac.clone()),
            Self::Gmac(aes, hash) => Mac::Gmac(aes, hash.clone(), nonce),
        }
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
    Cmac(Cmac<Aes128>),
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
