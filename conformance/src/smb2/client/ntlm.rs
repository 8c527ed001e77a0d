//! As much of NTLM as it takes to be a guest: a name that no server knows, and no password (MS-NLMP 2.2.1).

/// NTLMSSP_NEGOTIATE_UNICODE, NTLMSSP_REQUEST_TARGET, NTLMSSP_NEGOTIATE_NTLM, NTLMSSP_NEGOTIATE_ALWAYS_SIGN,
/// NTLMSSP_NEGOTIATE_EXTENDED_SESSIONSECURITY (2.2.2.5).
const FLAGS: u32 = 0x0000_0001 | 0x0000_0004 | 0x0000_0200 | 0x0000_8000 | 0x0008_0000;
const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// A user that there is not.
const USER: &str = "smbd-conformance";

/// NEGOTIATE_MESSAGE (2.2.1.1): no domain, no workstation.
pub(super) fn negotiate() -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.extend_from_slice(&FLAGS.to_le_bytes());
    out.extend_from_slice(&[0; 16]);
    out
}

/// AUTHENTICATE_MESSAGE (2.2.1.3) with responses of zeros.
pub(super) fn authenticate_as_guest() -> Vec<u8> {
    /// Bytes before the first part.
    const FIXED: usize = 64;
    let user: Vec<u8> = USER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    // LmChallengeResponse, NtChallengeResponse, DomainName, UserName, Workstation, EncryptedRandomSessionKey.
    let parts: [&[u8]; 6] = [&[0; 24], &[0; 24], &[], &user, &[], &[]];
    let mut out = SIGNATURE.to_vec();
    out.extend_from_slice(&3_u32.to_le_bytes());
    let mut at = FIXED;
    for part in parts {
        let len = u16::try_from(part.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes());
        at += part.len();
    }
    out.extend_from_slice(&FLAGS.to_le_bytes());
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out
}
