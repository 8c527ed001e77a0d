//! What SMB2_RDMA_CRYPTO_TRANSFORM says of data that go by RDMA (2.2.43.1).

use super::error::SecurityError;
use crate::wire::{List, RdmaCryptoTransform, RdmaTransformId, RdmaTransformType};

/// Which transforms data that go by RDMA may have: what a side offers, or Connection.RDMATransformIds (3.2.1.2, 3.3.1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaTransforms {
    /// SMB2_RDMA_TRANSFORM_ENCRYPTION.
    pub encryption: bool,
    /// SMB2_RDMA_TRANSFORM_SIGNING.
    pub signing: bool,
}

impl RdmaTransforms {
    /// None: IsRDMATransformSupported is FALSE, or nothing was negotiated.
    pub const NONE: Self = Self { encryption: false, signing: false };
    /// Both, as Windows has it.
    pub const ALL: Self = Self { encryption: true, signing: true };

    /// Those that are in a list.
    #[must_use]
    pub fn of(ids: List<'_, RdmaTransformId>) -> Self {
        let has = |id| ids.iter().any(|other| other == id);
        Self { encryption: has(RdmaTransformId::ENCRYPTION), signing: has(RdmaTransformId::SIGNING) }
    }

    /// As a list.
    #[must_use]
    pub const fn ids(self) -> &'static [RdmaTransformId] {
        match (self.encryption, self.signing) {
            (false, false) => &[],
            (true, false) => &[RdmaTransformId::ENCRYPTION],
            (false, true) => &[RdmaTransformId::SIGNING],
            (true, true) => &[RdmaTransformId::ENCRYPTION, RdmaTransformId::SIGNING],
        }
    }

    /// Those that both have.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self { encryption: self.encryption && other.encryption, signing: self.signing && other.signing }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.encryption && !self.signing
    }

    /// Whether this one is there.
    #[must_use]
    pub const fn has(self, transform: RdmaTransformType) -> bool {
        match transform {
            RdmaTransformType::ENCRYPTION => self.encryption,
            RdmaTransformType::SIGNING => self.signing,
            _ => false,
        }
    }
}

/// Signature and nonce of data that go by RDMA, as they go into SMB2_RDMA_CRYPTO_TRANSFORM (2.2.43.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaSignature {
    /// Signature.
    pub signature: [u8; 16],
    nonce: [u8; 12],
    nonce_len: usize,
}

impl RdmaSignature {
    /// With the first `nonce_len` bytes of a nonce; the others are zeros, so that those that are equal look so.
    pub(super) fn new(signature: [u8; 16], mut nonce: [u8; 12], nonce_len: usize) -> Self {
        nonce.iter_mut().skip(nonce_len).for_each(|byte| *byte = 0);
        Self { signature, nonce, nonce_len }
    }

    /// What came, with a nonce of so many bytes.
    pub(super) fn of(crypto: &RdmaCryptoTransform<'_>, nonce_len: usize) -> Result<Self, SecurityError> {
        let (nonce, signature) = received(crypto.nonce, nonce_len, crypto.signature)?;
        Ok(Self::new(signature, nonce, nonce_len))
    }

    /// As it goes into SMB2_RDMA_CRYPTO_TRANSFORM.
    #[must_use]
    pub fn crypto(&self, transform_type: RdmaTransformType) -> RdmaCryptoTransform<'_> {
        RdmaCryptoTransform { transform_type, signature: &self.signature, nonce: self.nonce() }
    }

    /// Nonce: 12 bytes with AES-GCM and AES-GMAC, 11 with AES-CCM, none with AES-CMAC and HMAC-SHA256.
    #[must_use]
    pub fn nonce(&self) -> &[u8] {
        self.nonce.get(..self.nonce_len).unwrap_or(&self.nonce)
    }
}

/// A signature of full length, and a nonce of the right one with zeros behind it (SE-8, SE-9).
pub(super) fn received(
    nonce: &[u8],
    expected: usize,
    signature: &[u8],
) -> Result<([u8; 12], [u8; 16]), SecurityError> {
    if nonce.len() != expected {
        return Err(SecurityError::NonceLength { got: nonce.len(), expected });
    }
    let signature =
        signature.try_into().map_err(|_| SecurityError::SignatureLength { got: signature.len() })?;
    let mut filled = [0; 12];
    for (to, from) in filled.iter_mut().zip(nonce) {
        *to = *from;
    }
    Ok((filled, signature))
}
