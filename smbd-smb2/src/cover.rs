//! How data that go by RDMA are protected (2.2.43).

use crate::security::{Opener, RdmaSignature, Sealer, SecurityError, Verifier};
use crate::wire::{RdmaCryptoTransform, RdmaTransformType};

/// What protects the data of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    pub(crate) transform: RdmaTransformType,
    /// What is said of them: by the client of the data of a WRITE, by the server of those of a READ. `None` until it is.
    pub(crate) signature: Option<RdmaSignature>,
}

/// What verifies or decrypts data that the peer has protected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CoverKey<'k> {
    Sign(&'k Verifier),
    Encrypt(&'k Opener),
}

impl<'k> CoverKey<'k> {
    /// That of a transform; `None` if the session has none for it.
    pub(crate) fn of(
        transform: RdmaTransformType,
        verifier: Option<&'k Verifier>,
        encryption: Option<&'k (Sealer, Opener)>,
    ) -> Option<Self> {
        match transform {
            RdmaTransformType::ENCRYPTION => encryption.map(|(_, opener)| Self::Encrypt(opener)),
            _ => verifier.map(Self::Sign),
        }
    }

    /// What the peer says of its data, with a nonce and a signature as long as they have to be.
    pub(crate) fn signature(self, crypto: &RdmaCryptoTransform<'_>) -> Result<RdmaSignature, SecurityError> {
        match self {
            Self::Sign(verifier) => verifier.rdma_signature(crypto),
            Self::Encrypt(opener) => opener.rdma_signature(crypto),
        }
    }

    /// Verifies or decrypts data where they are.
    pub(crate) fn open(
        self,
        signature: &RdmaSignature,
        pieces: &mut [&mut [u8]],
    ) -> Result<(), SecurityError> {
        let (nonce, tag) = (signature.nonce(), &signature.signature);
        match self {
            Self::Sign(verifier) => verifier.verify_rdma(nonce, tag, pieces.iter().map(|piece| &**piece)),
            Self::Encrypt(opener) => opener.open_rdma(nonce, tag, pieces),
        }
    }
}
