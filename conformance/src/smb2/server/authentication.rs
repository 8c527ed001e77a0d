//! The least of NTLMSSP and SPNEGO that lets anybody in as a guest (MS-NLMP 2.2.1, MS-SPNG 2.2, RFC 4178 4.2).

use bytes::BufMut;

use super::record::utf16;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Longest token that is looked at, in bytes.
const TOKEN_MAX: usize = 64 << 10;
/// 1.3.6.1.4.1.311.2.2.10
const NTLMSSP: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a];
/// 1.3.6.1.5.5.2
const SPNEGO: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x02];
/// The hint every server sends instead of a name.
const HINT: &[u8] = b"not_defined_in_RFC4178@please_ignore";
/// What the server calls itself.
const TARGET: &str = "SMBD";

/// Flags of NTLMSSP (MS-NLMP 2.2.2.5).
mod flag {
    pub(super) const UNICODE: u32 = 0x1;
    pub(super) const TARGET_TYPE_SERVER: u32 = 0x2_0000;
    pub(super) const TARGET_INFO: u32 = 0x80_0000;
    /// Those that a server agrees to if the client asks: sign, seal, NTLM, always sign, extended security, 128 bits, key
    /// exchange, 56 bits; and that a target is named.
    pub(super) const AGREED: u32 = 0xe008_8234;
}

mod tag {
    pub(super) const OID: u8 = 0x06;
    pub(super) const OCTETS: u8 = 0x04;
    pub(super) const ENUMERATED: u8 = 0x0a;
    pub(super) const GENERAL_STRING: u8 = 0x1b;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const APPLICATION_0: u8 = 0x60;
    pub(super) const CONTEXT_0: u8 = 0xa0;
    pub(super) const CONTEXT_1: u8 = 0xa1;
    pub(super) const CONTEXT_2: u8 = 0xa2;
    pub(super) const CONTEXT_3: u8 = 0xa3;
}

/// What the token of a SESSION_SETUP leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The client has to answer this.
    Challenge(Vec<u8>),
    /// The client is in; what it is told.
    Accepted(Vec<u8>),
}

/// Looks at a token: NTLMSSP, alone or inside SPNEGO. `None` if it has none.
pub(super) fn step(token: &[u8]) -> Option<Step> {
    let token = token.get(..TOKEN_MAX.min(token.len()))?;
    let start = token.windows(SIGNATURE.len()).position(|window| window == SIGNATURE)?;
    let message = token.get(start..)?;
    let is_plain = start == 0;
    match word(message, 8)? {
        1 => {
            let challenge = challenge(word(message, 12)?);
            Some(Step::Challenge(if is_plain { challenge } else { incomplete(&challenge) }))
        }
        3 => Some(Step::Accepted(if is_plain { Vec::new() } else { complete() })),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// CHALLENGE_MESSAGE (MS-NLMP 2.2.1.2). Nobody checks the answer, so the challenge is always the same.
fn challenge(asked: u32) -> Vec<u8> {
    const FIXED_LEN: usize = 56;
    let target = utf16(TARGET);
    let mut info = Vec::new();
    // NetBIOS names of domain and computer, DNS names of both (2.2.2.1).
    for id in [2, 1, 4, 3] {
        info.put_u16_le(id);
        info.put_u16_le(target.len() as u16);
        info.put_slice(&target);
    }
    info.put_u32_le(0);
    let mut out = Vec::with_capacity(FIXED_LEN);
    out.put_slice(SIGNATURE);
    out.put_u32_le(2);
    put_field(&mut out, &target, FIXED_LEN);
    out.put_u32_le(flag::UNICODE | flag::TARGET_TYPE_SERVER | flag::TARGET_INFO | asked & flag::AGREED);
    out.put_slice(b"no\0check");
    out.put_u64_le(0);
    put_field(&mut out, &info, FIXED_LEN.saturating_add(target.len()));
    // Version: 6.1, revision 15 of NTLMSSP.
    out.put_slice(&[6, 1, 0, 0, 0, 0, 0, 15]);
    out.put_slice(&target);
    out.put_slice(&info);
    out
}

/// Length, room and place of what lies behind the fixed part.
fn put_field(out: &mut Vec<u8>, contents: &[u8], at: usize) {
    out.put_u16_le(contents.len() as u16);
    out.put_u16_le(contents.len() as u16);
    out.put_u32_le(at as u32);
}

/// A DER element.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut out = vec![tag];
    match content.len() {
        len @ ..128 => out.put_u8(len as u8),
        len @ ..256 => out.put_slice(&[0x81, len as u8]),
        len => {
            out.put_u8(0x82);
            out.put_u16(len as u16);
        }
    }
    out.put_slice(&content);
    out
}

/// A NegTokenInit2 that offers NTLMSSP alone.
pub(super) fn offer() -> Vec<u8> {
    let mechanisms = der(tag::SEQUENCE, &[&der(tag::OID, &[NTLMSSP])]);
    let hints = der(tag::SEQUENCE, &[&der(tag::CONTEXT_0, &[&der(tag::GENERAL_STRING, &[HINT])])]);
    let token = der(tag::SEQUENCE, &[&der(tag::CONTEXT_0, &[&mechanisms]), &der(tag::CONTEXT_3, &[&hints])]);
    der(tag::APPLICATION_0, &[&der(tag::OID, &[SPNEGO]), &der(tag::CONTEXT_0, &[&token])])
}

/// A NegTokenResp with NTLMSSP's challenge: accept-incomplete.
fn incomplete(challenge: &[u8]) -> Vec<u8> {
    let state = der(tag::CONTEXT_0, &[&der(tag::ENUMERATED, &[&[1]])]);
    let mechanism = der(tag::CONTEXT_1, &[&der(tag::OID, &[NTLMSSP])]);
    let token = der(tag::CONTEXT_2, &[&der(tag::OCTETS, &[challenge])]);
    der(tag::CONTEXT_1, &[&der(tag::SEQUENCE, &[&state, &mechanism, &token])])
}

/// A NegTokenResp without a token: accept-completed.
fn complete() -> Vec<u8> {
    der(tag::CONTEXT_1, &[&der(tag::SEQUENCE, &[&der(tag::CONTEXT_0, &[&der(tag::ENUMERATED, &[&[0]])])])])
}
