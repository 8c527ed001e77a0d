//! Data of channels that are signed or encrypted (2.2.43): what the script sends of them, and what a server's answers say.

use smbd_smb2::wire::{
    Channel, Cipher, NtStatus, RdmaCryptoTransform, RdmaTransform, RdmaTransformType, ReadResponseFlags,
    SigningAlgorithm, WriteResponse, rdma_transform, read,
};

use super::super::outcome::Stop;
use super::{Asked, Buffer, Response, Session, different};
use crate::smb2::{Crypto, Info, READ_RESPONSE_LEN};

/// The statements about the answer to a READ with a transform of one type.
struct Rules {
    kind: RdmaTransformType,
    nonce_len: usize,
    typed: &'static str,
    nonce: &'static str,
    signed: &'static str,
}

impl Rules {
    const fn of_encryption(cipher: Cipher) -> Self {
        let nonce_len = match cipher {
            Cipher::AES_128_CCM | Cipher::AES_256_CCM => 11,
            _ => 12,
        };
        let (kind, typed) = (RdmaTransformType::ENCRYPTION, "3.3.5.12-06");
        Self { kind, nonce_len, typed, nonce: "3.3.5.12-07", signed: "3.3.5.12-08" }
    }

    const fn of_signing(signing: SigningAlgorithm) -> Self {
        let nonce_len = match signing {
            SigningAlgorithm::AES_GMAC => 12,
            _ => 0,
        };
        let (kind, typed) = (RdmaTransformType::SIGNING, "3.3.5.12-09");
        Self { kind, nonce_len, typed, nonce: "3.3.5.12-10", signed: "3.3.5.12-10" }
    }
}

/// What a part of the answer is, and what it should be.
fn is_not(what: &str, wanted: impl std::fmt::Display, is: impl std::fmt::Display) -> String {
    format!("{what} of the answer to a READ under a transform should be {wanted}, it is {is}")
}

impl Session<'_> {
    fn no_key(what: &str) -> Stop {
        Stop::Broken(format!("data cannot be {what}: the session has no key for it"))
    }

    /// Encrypts data where they are.
    pub(in super::super) fn encrypts(&mut self, data: &mut [u8]) -> Result<Crypto, Stop> {
        let keys = self.client.keys().and_then(|keys| keys.encryption.as_mut());
        let signature = keys.and_then(|(sealer, _)| sealer.seal_rdma(&mut [data]).ok());
        let signature = signature.ok_or_else(|| Self::no_key("encrypted"))?;
        Ok(Crypto::of(RdmaTransformType::ENCRYPTION, &signature))
    }

    /// Signs data.
    pub(in super::super) fn signs(&mut self, data: &[u8]) -> Result<Crypto, Stop> {
        let signature = self.client.keys().and_then(|keys| keys.signer.sign_rdma([data]).ok());
        Ok(Crypto::of(RdmaTransformType::SIGNING, &signature.ok_or_else(|| Self::no_key("signed"))?))
    }

    /// READ by a channel of `wanted`, whose data are encrypted: as 3.3.5.12 has it. The nonce.
    pub(in super::super) fn reads_encrypted(
        &mut self,
        buffer: &Buffer,
        at: u64,
        wanted: &[u8],
        cipher: Cipher,
    ) -> Result<Vec<u8>, Stop> {
        let crypto = self.reads_covered(buffer, at, wanted, &Rules::of_encryption(cipher))?;
        let mut data = self.peer.contents(buffer.memory.buffer);
        data.truncate(wanted.len());
        self.peer.require("3.3.5.12-15", data != wanted, || {
            "what is written to the buffer should be encrypted, it is the file as it is".into()
        })?;
        let keys = self.client.keys().and_then(|keys| keys.encryption.as_ref());
        let (_, opener) = keys.ok_or_else(|| Self::no_key("decrypted"))?;
        let opened = opener.open_rdma(&crypto.nonce, &crypto.signature, &mut [&mut data]);
        self.peer.require("3.3.5.12-08", opened.is_ok(), || {
            format!("the signature of {} encrypted bytes is not that of the transform", wanted.len())
        })?;
        self.is_the_file(&data, wanted);
        Ok(crypto.nonce)
    }

    /// READ by a channel of `wanted`, whose data are signed: as 3.3.5.12 has it.
    pub(in super::super) fn reads_signed(
        &mut self,
        buffer: &Buffer,
        at: u64,
        wanted: &[u8],
        signing: SigningAlgorithm,
    ) -> Result<(), Stop> {
        let rules = Rules::of_signing(signing);
        let crypto = self.reads_covered(buffer, at, wanted, &rules)?;
        let mut data = self.peer.contents(buffer.memory.buffer);
        data.truncate(wanted.len());
        self.is_the_file(&data, wanted);
        let keys = self.client.keys().ok_or_else(|| Self::no_key("verified"))?;
        let holds = keys.verifier.verify_rdma(&crypto.nonce, &crypto.signature, [wanted]).is_ok();
        self.peer.require(rules.signed, holds, || {
            format!("the signature of {} bytes is not that of the transform", wanted.len())
        })
    }

    fn is_the_file(&mut self, data: &[u8], wanted: &[u8]) {
        let place = different(data, wanted);
        self.peer.check("3.3.5.12-20", place.is_none(), || {
            format!(
                "the buffer should have {} bytes of the file, it differs from byte {place:?} on",
                wanted.len()
            )
        });
    }

    /// READ by a channel: what the answer says of the data.
    fn reads_covered(
        &mut self,
        buffer: &Buffer,
        at: u64,
        wanted: &[u8],
        rules: &Rules,
    ) -> Result<Crypto, Stop> {
        let length = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        let what = format!("READ of {length} bytes at {at} under a transform");
        let id = self.ask(&Asked::read(buffer, length, at))?;
        let response = self.answer("3.3.5.12-20", id, &what)?;
        self.succeeds("3.3.5.12-20", &response, &what)?;
        let bytes = &response.bytes;
        let flags = read::response::FLAGS.get(bytes).unwrap_or_default();
        self.peer.require("3.3.5.12-14", flags.contains(ReadResponseFlags::RDMA_TRANSFORM), || {
            is_not("Flags", "SMB2_READFLAG_RESPONSE_RDMA_TRANSFORM", format!("0x{:x}", flags.0))
        })?;
        let offset = read::response::DATA_OFFSET.get(bytes).unwrap_or_default();
        self.asserts("3.3.5.12-17", usize::from(offset) == READ_RESPONSE_LEN, || {
            is_not("DataOffset", READ_RESPONSE_LEN, offset)
        });
        let stated = read::response::DATA_LENGTH.get(bytes).unwrap_or_default();
        let remaining = read::response::DATA_REMAINING.get(bytes).unwrap_or_default();
        self.asserts("3.3.5.12-18", remaining == length, || is_not("DataRemaining", length, remaining));
        let carried = bytes.get(READ_RESPONSE_LEN..).unwrap_or_default();
        // What is behind a message may be padding.
        let data_len = usize::try_from(stated).unwrap_or(usize::MAX);
        self.asserts("3.3.5.12-19", carried.len() < data_len.saturating_add(8), || {
            let len = carried.len();
            format!("the answer to {what} should carry no data, DataLength is {stated} and {len} bytes come")
        });
        self.transform(carried, data_len, rules)
    }

    /// What SMB2_RDMA_TRANSFORM of an answer has (2.2.43).
    fn transform(&mut self, carried: &[u8], stated: usize, rules: &Rules) -> Result<Crypto, Stop> {
        use rdma_transform::crypto::{NONCE_LENGTH, SIGNATURE_LENGTH, TRANSFORM_TYPE};
        use rdma_transform::field::{
            CHANNEL, RDMA_DESCRIPTOR_LENGTH, RDMA_DESCRIPTOR_OFFSET, TRANSFORM_COUNT,
        };
        let behind = carried.get(..stated).and_then(|buffer| buffer.get(rdma_transform::LEN..));
        let behind = behind.unwrap_or_default();
        let (kind, signature, nonce) =
            (TRANSFORM_TYPE.get(behind), SIGNATURE_LENGTH.get(behind), NONCE_LENGTH.get(behind));
        self.peer.require("3.3.5.12-12", nonce.is_ok(), || {
            is_not("the buffer", "SMB2_RDMA_TRANSFORM and SMB2_RDMA_CRYPTO_TRANSFORM", "shorter")
        })?;
        let fields = [
            ("TransformCount", TRANSFORM_COUNT.get(carried).map(u32::from), 1),
            ("Channel", CHANNEL.get(carried).map(|channel| channel.0), 0),
            ("RdmaDescriptorOffset", RDMA_DESCRIPTOR_OFFSET.get(carried).map(u32::from), 0),
            ("RdmaDescriptorLength", RDMA_DESCRIPTOR_LENGTH.get(carried).map(u32::from), 0),
        ];
        for (name, value, wanted) in fields {
            let value = value.unwrap_or_default();
            self.peer.require("3.3.5.12-05", value == wanted, || is_not(name, wanted, value))?;
        }
        let (kind, signature_len, nonce_len) =
            (kind.unwrap_or_default(), signature.unwrap_or_default(), nonce.unwrap_or_default());
        self.peer.require(rules.typed, kind == rules.kind, || is_not("TransformType", rules.kind, kind))?;
        let is_long = usize::from(nonce_len) == rules.nonce_len;
        self.peer.require(rules.nonce, is_long, || is_not("NonceLength", rules.nonce_len, nonce_len))?;
        let structure = RdmaTransform::parse(carried).ok();
        let first = structure.and_then(|structure| structure.transforms.iter().next()?.ok());
        let is_whole = first.is_some_and(|first| first.signature.len() == 16);
        self.peer.require("3.3.5.12-11", is_whole, || is_not("SignatureLength", 16, signature_len))?;
        let Some(crypto @ RdmaCryptoTransform { signature, nonce, .. }) = first else {
            return Err(Stop::Failed);
        };
        let len = rdma_transform::LEN + crypto.len();
        // Up to 7 bytes may fill it up (RT-11).
        let fits = (len..=len.next_multiple_of(8)).contains(&stated);
        self.peer.require("3.3.5.12-13", fits, || is_not("DataLength", len, stated))?;
        Ok(Crypto { kind, signature: signature.to_vec(), nonce: nonce.to_vec() })
    }

    /// WRITE under a transform: the answer is as 3.3.5.13 has it. `judged` is about what the server makes of the data.
    pub(in super::super) fn writes_covered(
        &mut self,
        judged: &str,
        buffer: &Buffer,
        info: &Info,
        length: u32,
        at: u64,
    ) -> Result<Response, Stop> {
        const FETCHED: &str = "3.3.5.13-20";
        let what = format!("WRITE of {length} bytes at {at} under a transform");
        let info = info.bytes();
        let id = self.ask(&Asked::write(buffer, length, at).by(Channel::RDMA_TRANSFORM).with(&info))?;
        let response = self.answer(FETCHED, id, &what)?;
        let status = response.status();
        let is_about_data =
            [NtStatus::AUTH_TAG_MISMATCH, NtStatus::INVALID_SIGNATURE, NtStatus::BAD_DATA].contains(&status);
        self.peer
            .require(judged, !is_about_data, || format!("{what} should succeed, the answer is {status}"))?;
        self.succeeds(FETCHED, &response, &what)?;
        let count = WriteResponse::parse(&response.bytes).map(|response| response.count).unwrap_or_default();
        self.asserts("3.3.5.13-27", count == length, || {
            format!("Count of the answer to {what} should be {length}, it is {count}")
        });
        Ok(response)
    }
}
