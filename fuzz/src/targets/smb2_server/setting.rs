//! What server and client agree on, and how their messages are protected.

use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::server::Params;
use smbd_smb2::wire::{
    Capabilities, Cipher, CompressionAlgorithm, CompressionFlags, Dialect, HashAlgorithm, List,
    NegotiateContext, NegotiateRequest, RdmaTransformId, Records, SigningAlgorithm,
};

/// Drawn from two bytes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub dialect: Dialect,
    /// What the client offers.
    pub cipher: Option<Cipher>,
    pub signing: SigningAlgorithm,
    has_transforms: bool,
    signing_required: bool,
    /// Of the whole server, or of the share.
    is_encrypted: bool,
    share_is_encrypted: bool,
}

impl Setting {
    /// Nothing is protected.
    pub const PLAIN: Self = Self {
        dialect: Dialect::SMB_3_0_2,
        cipher: None,
        signing: SigningAlgorithm::AES_CMAC,
        has_transforms: false,
        signing_required: false,
        is_encrypted: false,
        share_is_encrypted: false,
    };

    pub fn of([how, what]: [u8; 2]) -> Self {
        const CIPHERS: [Cipher; 4] =
            [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
        const SIGNINGS: [SigningAlgorithm; 4] = [
            SigningAlgorithm::HMAC_SHA256,
            SigningAlgorithm::AES_CMAC,
            SigningAlgorithm::AES_GMAC,
            SigningAlgorithm::AES_GMAC,
        ];
        let dialect = match how & 3 {
            0 => Dialect::SMB_3_0,
            1 => Dialect::SMB_3_0_2,
            _ => Dialect::SMB_3_1_1,
        };
        Self {
            dialect,
            cipher: Some(CIPHERS[usize::from(how >> 2 & 3)]),
            signing: SIGNINGS[usize::from(how >> 4 & 3)],
            has_transforms: how & 0x40 != 0,
            signing_required: what & 1 != 0,
            is_encrypted: what & 2 != 0,
            share_is_encrypted: what & 4 != 0,
        }
    }

    /// Whether a client that is connected has to encrypt.
    pub const fn must_seal(&self) -> bool {
        self.is_encrypted || self.share_is_encrypted
    }

    pub fn configure(&self, params: &mut Params) {
        params.signing_required = self.signing_required;
        params.encrypted = self.is_encrypted;
        // A guest has no keys.
        params.guests &= !self.must_seal();
        if self.has_transforms {
            params.rdma_transforms = RdmaTransforms::ALL;
        }
        for share in &mut params.shares {
            share.is_encrypted = self.share_is_encrypted;
            share.guests &= !self.must_seal();
        }
    }

    /// The request that offers it.
    pub fn negotiate(&self, f: impl FnOnce(&NegotiateRequest<'_>)) {
        let (ciphers, signings) = (self.cipher.map(|cipher| [cipher]), [self.signing]);
        let mut contexts = Vec::new();
        if self.dialect == Dialect::SMB_3_1_1 {
            let hash_algorithms = List::from(&[HashAlgorithm::SHA_512]);
            contexts.push(NegotiateContext::PreauthIntegrity { hash_algorithms, salt: &[0x5A; 32] });
            contexts
                .extend(ciphers.as_ref().map(|ciphers| NegotiateContext::Encryption(List::from(ciphers))));
            contexts.push(NegotiateContext::Signing(List::from(&signings)));
            // Declined.
            let (flags, algorithms) = (CompressionFlags::NONE, List::from(&[CompressionAlgorithm::LZ77]));
            contexts.push(NegotiateContext::Compression { flags, algorithms });
        }
        if self.has_transforms && self.dialect == Dialect::SMB_3_1_1 {
            let ids = List::from(&[RdmaTransformId::ENCRYPTION, RdmaTransformId::SIGNING]);
            contexts.push(NegotiateContext::RdmaTransform(ids));
        }
        let capabilities = Capabilities::NONE.with(Capabilities::ENCRYPTION, self.cipher.is_some());
        f(&NegotiateRequest {
            capabilities,
            dialects: List::from(&[self.dialect]),
            contexts: Records::from(&contexts[..]),
            ..NegotiateRequest::default()
        });
    }
}
