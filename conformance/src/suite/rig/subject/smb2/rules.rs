//! What 3.2.5.11 has a client do with data of a READ that came by RDMA, rule by rule. One of them can be left out: then it is known whether
//! anybody sees that.

use smbd_smb2::security::SessionKeys;
use smbd_smb2::wire::rdma_transform::{self, crypto, field};
use smbd_smb2::wire::{Cipher, NtStatus, RdmaTransformId, RdmaTransformType, ReadResponseFlags, read};

use crate::smb2::{Crypto, READ_RESPONSE_LEN};

const INVALID: NtStatus = NtStatus::INVALID_NETWORK_RESPONSE;
const SIGNATURE_LEN: usize = 16;

/// The rules, but for the statement that is left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    pub(super) without: Option<&'static str>,
}

/// What is known of the answer to a READ besides itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// Connection.RDMATransformIds.
    pub(super) ids: &'a [RdmaTransformId],
    /// It was encrypted.
    pub(super) is_sealed: bool,
    /// Of the session.
    pub(super) cipher: Option<Cipher>,
}

/// What an answer says of its data.
#[derive(Clone, Debug, Default)]
pub(super) struct Brought {
    /// How many bytes they are.
    len: usize,
    crypto: Option<Crypto>,
}

const fn nonce_len(cipher: Cipher) -> usize {
    match cipher {
        Cipher::AES_128_CCM | Cipher::AES_256_CCM => 11,
        _ => 12,
    }
}

/// So many transforms, as far as they are there.
fn transforms(mut bytes: &[u8], count: u16) -> Vec<Crypto> {
    let mut all = Vec::new();
    while all.len() < usize::from(count) {
        let (Ok(kind), Ok(signature), Ok(nonce)) = (
            crypto::TRANSFORM_TYPE.get(bytes),
            crypto::SIGNATURE_LENGTH.get(bytes),
            crypto::NONCE_LENGTH.get(bytes),
        ) else {
            break;
        };
        let begin = crypto::LAYOUT.end();
        let middle = begin + usize::from(signature);
        let end = middle + usize::from(nonce);
        let (Some(signature), Some(nonce)) = (bytes.get(begin..middle), bytes.get(middle..end)) else {
            break;
        };
        all.push(Crypto { kind, signature: signature.to_vec(), nonce: nonce.to_vec() });
        bytes = bytes.get(end.next_multiple_of(8)..).unwrap_or_default();
    }
    all
}

impl Rules {
    /// Whether a rule is kept.
    pub(super) fn keeps(self, statement: &str) -> bool {
        self.without != Some(statement)
    }

    /// A status, if a rule that is kept wants something else.
    fn demands(self, statement: &str, holds: bool) -> Result<(), NtStatus> {
        if holds || !self.keeps(statement) { Ok(()) } else { Err(INVALID) }
    }

    /// Looks at the answer of a READ in 3.1.1 that has succeeded.
    pub(super) fn look(self, answer: &[u8], facts: &Facts<'_>) -> Result<Brought, NtStatus> {
        use read::response::{DATA_OFFSET, DATA_REMAINING, FLAGS};
        let flags = FLAGS.get(answer).unwrap_or_default();
        let len = DATA_REMAINING.get(answer).map_or(0, |len| usize::try_from(len).unwrap_or(usize::MAX));
        if !flags.contains(ReadResponseFlags::RDMA_TRANSFORM) || len == 0 {
            return Ok(Brought { len, crypto: None });
        }
        if facts.ids.is_empty() {
            return if self.keeps("3.2.5.11-06") { Err(INVALID) } else { Ok(Brought { len, crypto: None }) };
        }
        let offset = match DATA_OFFSET.get(answer) {
            Ok(offset) if self.keeps("3.2.5.11-05") => usize::from(offset),
            _ => READ_RESPONSE_LEN,
        };
        let structure = answer.get(offset..).unwrap_or_default();
        let count = field::TRANSFORM_COUNT.get(structure).map_err(|_| INVALID)?;
        self.demands("3.2.5.11-07", count > 0)?;
        let all = transforms(structure.get(rdma_transform::LEN..).unwrap_or_default(), count.max(1));
        self.judge(&all, facts)?;
        Ok(Brought { len, crypto: all.into_iter().next() })
    }

    fn judge(self, all: &[Crypto], facts: &Facts<'_>) -> Result<(), NtStatus> {
        let encryption = all.iter().find(|one| one.kind == RdmaTransformType::ENCRYPTION);
        let (encrypted, signed) =
            (encryption.is_some(), all.iter().any(|one| one.kind == RdmaTransformType::SIGNING));
        let can_encrypt = facts.ids.contains(&RdmaTransformId::ENCRYPTION);
        let can_sign = facts.ids.contains(&RdmaTransformId::SIGNING);
        let is_known =
            |one: &Crypto| [RdmaTransformType::ENCRYPTION, RdmaTransformType::SIGNING].contains(&one.kind);
        self.demands("3.2.5.11-08", !encrypted || facts.is_sealed)?;
        self.demands("3.2.5.11-09", !signed || !facts.is_sealed)?;
        self.demands("3.2.5.11-10", !can_encrypt || !facts.is_sealed || encrypted)?;
        self.demands("3.2.5.11-11", !can_sign || signed)?;
        self.demands("3.2.5.11-12", all.len() < 2)?;
        self.demands("3.2.5.11-13", all.iter().all(is_known))?;
        let (Some(Crypto { signature, nonce, .. }), Some(cipher), true) =
            (encryption, facts.cipher, can_encrypt)
        else {
            return Ok(());
        };
        self.demands("3.2.5.11-14", signature.len() <= SIGNATURE_LEN)?;
        let wanted = nonce_len(cipher);
        let statement = if wanted == 11 { "3.2.5.11-15" } else { "3.2.5.11-16" };
        self.demands(statement, nonce.len() == wanted)
    }

    /// Verifies or decrypts what was in the buffer.
    pub(super) fn uncover(
        self,
        brought: &Brought,
        ids: &[RdmaTransformId],
        keys: Option<&SessionKeys>,
        data: &mut [u8],
    ) -> Result<(), NtStatus> {
        let (Some(Crypto { kind, signature, nonce }), Some(keys)) = (&brought.crypto, keys) else {
            return Ok(());
        };
        match (*kind, &keys.encryption) {
            (RdmaTransformType::SIGNING, _)
                if ids.contains(&RdmaTransformId::SIGNING) && self.keeps("3.2.5.11-17") =>
            {
                let data = data.get(..brought.len).ok_or(INVALID)?;
                let verified = keys.verifier.verify_rdma(nonce, signature, [data]);
                verified.map_err(|_| NtStatus::INVALID_SIGNATURE)
            }
            (RdmaTransformType::ENCRYPTION, Some((_, opener)))
                if ids.contains(&RdmaTransformId::ENCRYPTION) && self.keeps("3.2.5.11-18") =>
            {
                // Other lengths than these come to here if the rules about them are left out.
                let (mut signature, mut nonce) = (signature.clone(), nonce.clone());
                signature.truncate(SIGNATURE_LEN);
                nonce.resize(nonce_len(opener.cipher()), 0);
                let len = if self.keeps("3.2.5.11-19") { brought.len } else { data.len() };
                let data = data.get_mut(..len).ok_or(INVALID)?;
                let opened = opener.open_rdma(&nonce, &signature, &mut [data]);
                opened.map_err(|_| NtStatus::AUTH_TAG_MISMATCH)
            }
            _ => Ok(()),
        }
    }
}
