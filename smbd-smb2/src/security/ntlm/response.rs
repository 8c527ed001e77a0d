//! Answers to a challenge (MS-NLMP 2.2.2.4, 2.2.2.7, 2.2.2.8, 3.3.2).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::super::secret::Key;
use super::av::AvPairs;
use super::key::hmac_md5;
use crate::wire::layout::layout;

layout! {
    /// Fields of a response.
    pub mod field: "NTLMv2_RESPONSE", "MS-NLMP 2.2.2.7", from 0;
    RESPONSE: [u8; 16] = "Response" at 0;
    RESP_TYPE: u8 = "RespType" at 16;
    HI_RESP_TYPE: u8 = "HiRespType" at 17;
    RESERVED1: u16 = "Reserved1" at 18;
    RESERVED2: u32 = "Reserved2" at 20;
    TIME_STAMP: u64 = "TimeStamp" at 24;
    CHALLENGE_FROM_CLIENT: [u8; 8] = "ChallengeFromClient" at 32;
    RESERVED3: u32 = "Reserved3" at 40;
}

/// The length of a response of NTLMv1; those of NTLMv2 are longer.
const VERSION_1: usize = 24;

/// A response of NTLMv2 that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// NTProofStr.
    pub proof: [u8; 16],
    /// TimeStamp: a FILETIME.
    pub time: u64,
    /// AvPairs.
    pub pairs: AvPairs<'a>,
    /// All behind NTProofStr: what it proves.
    pub proved: &'a [u8],
}

impl<'a> Response<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// It is not complete, or of another version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        if bytes.len() <= VERSION_1 {
            return Err(AuthError::NotVersion2 { len: bytes.len() });
        }
        field::LAYOUT.check(bytes)?;
        field::RESP_TYPE.expect(bytes, 1)?;
        field::HI_RESP_TYPE.expect(bytes, 1)?;
        Ok(Self {
            proof: field::RESPONSE.get(bytes)?,
            time: field::TIME_STAMP.get(bytes)?,
            pairs: AvPairs::parse(bytes.get(field::LAYOUT.end()..).unwrap_or_default())?,
            proved: bytes.get(field::RESPONSE.place().end()..).unwrap_or_default(),
        })
    }
}

/// NTProofStr over what it proves.
pub(super) fn proof(key: &Key<16>, server_challenge: [u8; 8], proved: &[u8]) -> [u8; 16] {
    hmac_md5(key.bytes(), &[&server_challenge, proved])
}

/// SessionBaseKey, which in NTLMv2 is KeyExchangeKey.
pub(super) fn base_key(key: &Key<16>, proof: &[u8; 16]) -> Key<16> {
    Key::new(hmac_md5(key.bytes(), &[proof]))
}

/// NtChallengeResponse.
pub(super) fn nt_response(
    key: &Key<16>,
    server_challenge: [u8; 8],
    client_challenge: [u8; 8],
    time: u64,
    pairs: &[u8],
) -> Vec<u8> {
    let mut proved = Vec::from([1, 1, 0, 0, 0, 0, 0, 0]);
    proved.extend_from_slice(&time.to_le_bytes());
    proved.extend_from_slice(&client_challenge);
    proved.extend_from_slice(&[0; 4]);
    proved.extend_from_slice(pairs);
    proved.extend_from_slice(&[0; 4]);
    let mut response = proof(key, server_challenge, &proved).to_vec();
    response.append(&mut proved);
    response
}

/// LmChallengeResponse, for servers that give no time: LMv2_RESPONSE.
pub(super) fn lm_response(key: &Key<16>, server_challenge: [u8; 8], client_challenge: [u8; 8]) -> Vec<u8> {
    let mut response = hmac_md5(key.bytes(), &[&server_challenge, &client_challenge]).to_vec();
    response.extend_from_slice(&client_challenge);
    response
}
