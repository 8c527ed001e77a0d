//! The keys of the client's session, and what it does with them.

use smbd_smb2::security::{Initiator, KeySchedule, PreauthHash, SessionKeys, Side};
use smbd_smb2::wire::{
    Capabilities, Cipher, Dialect, Elements, Flags, Header, NegotiateContext, NegotiateResponse,
    RdmaTransform, RdmaTransformType, Records, SessionId, SigningAlgorithm, transform,
};

/// What is said before a session has keys, and the keys.
pub struct Protect {
    preauth: PreauthHash,
    dialect: Dialect,
    signing: SigningAlgorithm,
    cipher: Option<Cipher>,
    keys: Option<SessionKeys>,
    /// Whose they are.
    session_id: SessionId,
    /// Requests are encrypted.
    pub seals: bool,
}

impl Protect {
    pub fn new(seals: bool) -> Self {
        Self {
            preauth: PreauthHash::new(),
            dialect: Dialect::default(),
            signing: SigningAlgorithm::AES_CMAC,
            cipher: None,
            keys: None,
            session_id: SessionId::NONE,
            seals,
        }
    }

    pub fn hear(&mut self, message: &[u8]) {
        self.preauth.update([message]);
    }

    /// What the server has chosen.
    pub fn negotiated(&mut self, answer: &[u8]) {
        self.hear(answer);
        let Ok(response) = NegotiateResponse::parse(answer) else { return };
        self.dialect = response.dialect;
        self.cipher = response.capabilities.contains(Capabilities::ENCRYPTION).then_some(Cipher::AES_128_CCM);
        for context in response.contexts.iter().flatten() {
            match context {
                NegotiateContext::Encryption(ciphers) => {
                    self.cipher = ciphers.get(0).filter(|cipher| *cipher != Cipher::NONE);
                }
                NegotiateContext::Signing(algorithms) => {
                    self.signing = algorithms.get(0).unwrap_or(SigningAlgorithm::AES_CMAC);
                }
                _ => {}
            }
        }
    }

    /// The user is logged in.
    pub fn established(&mut self, client: &Initiator, session_id: SessionId) {
        self.session_id = session_id;
        let Some(key) = client.established().and_then(|established| established.session_key) else { return };
        let schedule = if self.dialect == Dialect::SMB_3_1_1 {
            KeySchedule::Smb311 { signing: self.signing, cipher: self.cipher, preauth: &self.preauth }
        } else {
            KeySchedule::Smb30 { can_encrypt: self.cipher.is_some() }
        };
        self.keys = schedule.session(Side::Client, &key).ok();
    }

    /// Signs or encrypts a message, if there are keys for it.
    pub fn protect(&mut self, message: &mut Vec<u8>, session_id: SessionId, seals: bool) {
        let Some(keys) = &mut self.keys else { return };
        if let (true, Some((sealer, _))) = (seals, &mut keys.encryption) {
            if let Ok(front) = sealer.seal_message(session_id, &mut [&mut message[..]]) {
                message.splice(..0, front);
            }
            return;
        }
        let ranges: Vec<_> = Elements::new(message).map_while(Result::ok).map(|e| e.range()).collect();
        for range in ranges {
            // AES-GMAC has no nonce for some MessageIds: those are sent as they are.
            if let Some(element) = message.get_mut(range) {
                let _ = keys.signer.sign_in_place(element);
            }
        }
    }

    /// An answer in plain text: what is encrypted for this session has to be so with its keys.
    pub fn open(&self, message: &[u8]) -> Option<Vec<u8>> {
        if !message.starts_with(&transform::PROTOCOL_ID) {
            return Some(message.to_vec());
        }
        let (front, sealed) = message.split_at(transform::LEN.min(message.len()));
        let (_, opener) = self.keys.as_ref()?.encryption.as_ref()?;
        if transform::field::SESSION_ID.get(front) != Ok(self.session_id) {
            return None;
        }
        let mut plain = sealed.to_vec();
        opener.open_message(front, &mut [&mut plain]).expect("the server encrypts with its keys");
        Some(plain)
    }

    /// The signature of an answer of this session is right, if there is one.
    pub fn verify(&self, element: &[u8], header: &Header) {
        let is_signed = header.flags.contains(Flags::SIGNED) && header.session_id == self.session_id;
        if let (true, Some(keys)) = (is_signed, &self.keys) {
            keys.verifier.verify([element]).expect("the server signs with its keys");
        }
    }

    /// Data for a WRITE by RDMA, signed or encrypted: what goes by RDMA, and what is said of it.
    pub fn data(&mut self, mut data: Vec<u8>, info: &RdmaTransform<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
        let keys = self.keys.as_mut()?;
        let (kind, signature) = match (&mut keys.encryption, self.seals) {
            (Some((sealer, _)), true) => {
                (RdmaTransformType::ENCRYPTION, sealer.seal_rdma(&mut [&mut data[..]]).ok()?)
            }
            _ => (RdmaTransformType::SIGNING, keys.signer.sign_rdma([&data[..]]).ok()?),
        };
        let crypto = [signature.crypto(kind)];
        let mut said = Vec::new();
        RdmaTransform { transforms: Records::from(&crypto), ..*info }.write(&mut said).ok()?;
        Some((data, said))
    }
}
