//! The authentication mechanisms that a server offers (RFC 4178, MS-SPNG 2.2.1).

use bytes::Bytes;

/// 1.3.6.1.5.5.2
const SPNEGO: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x02];
/// 1.3.6.1.4.1.311.2.2.10
const NTLMSSP: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a];
/// The hint every server sends instead of a name.
const HINT: &[u8] = b"not_defined_in_RFC4178@please_ignore";

mod tag {
    pub(super) const OID: u8 = 0x06;
    pub(super) const GENERAL_STRING: u8 = 0x1b;
    pub(super) const SEQUENCE: u8 = 0x30;
    pub(super) const APPLICATION_0: u8 = 0x60;
    pub(super) const CONTEXT_0: u8 = 0xa0;
    pub(super) const CONTEXT_3: u8 = 0xa3;
}

/// One DER element. All lengths here are below 128, which take one byte.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    debug_assert!(content.len() < 128, "a length of one byte");
    [&[tag, content.len() as u8], content.as_slice()].concat()
}

/// A NegTokenInit2 that offers NTLMSSP alone.
#[must_use]
pub fn ntlmssp_offer() -> Bytes {
    let mechanisms = der(tag::SEQUENCE, &[&der(tag::OID, &[NTLMSSP])]);
    let hints = der(tag::SEQUENCE, &[&der(tag::CONTEXT_0, &[&der(tag::GENERAL_STRING, &[HINT])])]);
    let token = der(tag::SEQUENCE, &[&der(tag::CONTEXT_0, &[&mechanisms]), &der(tag::CONTEXT_3, &[&hints])]);
    der(tag::APPLICATION_0, &[&der(tag::OID, &[SPNEGO]), &der(tag::CONTEXT_0, &[&token])]).into()
}
