//! Negotiate contexts of 3.1.1 (2.2.3.1, 2.2.4.1).

use std::fmt;

use bytes::{Buf, BufMut, BytesMut};

use super::{Nonsense, range};

/// How many bytes of salt the preauthentication hash gets.
pub(super) const SALT_LEN: usize = 32;
const PREAUTH_INTEGRITY: u16 = 1;
const ENCRYPTION: u16 = 2;
const SHA_512: u16 = 1;

/// A cipher (2.2.3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cipher(pub u16);

impl Cipher {
    /// AES-128-CCM.
    pub const AES_128_CCM: Self = Self(1);
    /// AES-128-GCM.
    pub const AES_128_GCM: Self = Self(2);
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("none"),
            1 => f.write_str("AES-128-CCM"),
            2 => f.write_str("AES-128-GCM"),
            3 => f.write_str("AES-256-CCM"),
            4 => f.write_str("AES-256-GCM"),
            other => write!(f, "cipher 0x{other:04x}"),
        }
    }
}

/// The contexts that matter here; others are skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contexts {
    /// SHA-512 is among the hash algorithms.
    pub(super) has_sha512: bool,
    /// Offered, or the one chosen.
    pub(super) ciphers: Vec<Cipher>,
}

/// Appends both contexts, the first at a multiple of 8 from the beginning of `out`. Returns their offset and number.
pub(super) fn put(out: &mut BytesMut, salt: &[u8; SALT_LEN], ciphers: &[Cipher]) -> (u32, u16) {
    align(out);
    let start = out.len() as u32;
    header(out, PREAUTH_INTEGRITY, 2 + 2 + 2 + SALT_LEN);
    out.put_u16_le(1);
    out.put_u16_le(SALT_LEN as u16);
    out.put_u16_le(SHA_512);
    out.put_slice(salt);
    if ciphers.is_empty() {
        return (start, 1);
    }
    align(out);
    header(out, ENCRYPTION, 2 + 2 * ciphers.len());
    out.put_u16_le(ciphers.len() as u16);
    ciphers.iter().for_each(|cipher| out.put_u16_le(cipher.0));
    (start, 2)
}

fn align(out: &mut BytesMut) {
    let padded = out.len().next_multiple_of(8);
    out.resize(padded, 0);
}

fn header(out: &mut BytesMut, kind: u16, len: usize) {
    out.put_u16_le(kind);
    out.put_u16_le(len as u16);
    out.put_u32_le(0);
}

/// Reads `count` contexts that begin at `offset` of `message`.
pub(super) fn read(message: &[u8], offset: u32, count: u16) -> Result<Contexts, Nonsense> {
    const FIELD: &str = "NegotiateContext";
    let mut contexts = Contexts::default();
    let mut at = u64::from(offset);
    for _ in 0..count {
        let mut header = range(message, FIELD, at, 8)?;
        let (kind, len) = (header.get_u16_le(), u64::from(header.get_u16_le()));
        let mut data = range(message, FIELD, at + 8, len)?;
        match kind {
            PREAUTH_INTEGRITY => {
                let (count, _salt) = (word(&mut data)?, word(&mut data)?);
                for _ in 0..count {
                    contexts.has_sha512 |= word(&mut data)? == SHA_512;
                }
            }
            ENCRYPTION => {
                for _ in 0..word(&mut data)? {
                    contexts.ciphers.push(Cipher(word(&mut data)?));
                }
            }
            _ => {}
        }
        at = (at + 8 + len).next_multiple_of(8);
    }
    Ok(contexts)
}

fn word(data: &mut &[u8]) -> Result<u16, Nonsense> {
    let got = data.len();
    data.try_get_u16_le().map_err(|_| Nonsense::Short { what: "negotiate context", got, needed: 2 })
}
