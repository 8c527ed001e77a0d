//! What SMB2_RDMA_CRYPTO_TRANSFORM says of data that go by RDMA (2.2.43.1).

use super::error::SecurityError;

/// Signature and nonce of data that go by RDMA, as they go into SMB2_RDMA_CRYPTO_TRANSFORM (2.2.43.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaSignature {
    /// Signature.
    pub signature: [u8; 16],
    nonce: [u8; 12],
    nonce_len: usize,
}

impl RdmaSignature {
    /// With the first `nonce_len` bytes of a nonce.
    pub(super) const fn new(signature: [u8; 16], nonce: [u8; 12], nonce_len: usize) -> Self {
        Self { signature, nonce, nonce_len }
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
