//! What NTLMv2 makes of a password (MS-NLMP 3.3.2).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;
use rc4::{Rc4, StreamCipher};
use zeroize::Zeroizing;

use super::super::secret::Key;
use crate::wire::Text;

/// The hash that NTLM knows a password by: MD4 over its UTF-16. Who has it needs no password, so it is as secret as that. It is wiped
/// when it is dropped.
#[derive(Clone)]
pub struct NtHash(Key<16>);

impl NtHash {
    /// Of a password.
    #[must_use]
    pub fn of_password(password: &str) -> Self {
        let bytes: Zeroizing<Vec<u8>> = Zeroizing::new({
            let mut bytes = Vec::with_capacity(password.len().saturating_mul(2));
            bytes.extend(password.encode_utf16().flat_map(u16::to_le_bytes));
            bytes
        });
        Self(Key::new(Md4::digest(&*bytes).into()))
    }

    /// As it is kept.
    #[must_use]
    pub fn new(hash: [u8; 16]) -> Self {
        Self(Key::new(hash))
    }

    /// As it is kept: as secret as the password.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 16] {
        self.0.bytes()
    }

    /// The key that answers challenges: NTOWFv2.
    pub(super) fn response_key(&self, user: Text<'_>, domain: Text<'_>) -> Key<16> {
        let units = upper(user.units()).chain(domain.units());
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        Key::new(hmac_md5(self.0.bytes(), &[&bytes]))
    }
}

impl fmt::Debug for NtHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NtHash(..)")
    }
}

/// A name in capital letters, by which users are the same (MS-NLMP 3.2.5.1.2). Character by character: one that would become two stays.
///
/// ```
/// use smbd_smb2::security::capital;
///
/// assert_eq!(capital("Jörg Straße"), "JÖRG STRAßE");
/// ```
#[must_use]
pub fn capital(name: &str) -> String {
    name.chars().map(capital_char).collect()
}

fn capital_char(c: char) -> char {
    let mut capitals = c.to_uppercase();
    match (capitals.next(), capitals.next()) {
        // As Windows has it: within 16 bits, and no other script's letter becomes one of ASCII.
        (Some(capital), None)
            if c.len_utf16() == 1 && capital.len_utf16() == 1 && c.is_ascii() == capital.is_ascii() =>
        {
            capital
        }
        _ => c,
    }
}

fn upper(units: impl Iterator<Item = u16>) -> impl Iterator<Item = u16> {
    char::decode_utf16(units).flat_map(|unit| {
        let mut units = [0; 2];
        let len = match unit {
            Ok(c) => capital_char(c).encode_utf16(&mut units).len(),
            Err(half) => {
                units = [half.unpaired_surrogate(), 0];
                1
            }
        };
        units.into_iter().take(len)
    })
}

/// HMAC-MD5 over parts.
pub(super) fn hmac_md5(key: &[u8; 16], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new(Key::<64>::padded(key).bytes().into());
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// RC4 from its beginning.
pub(super) fn rc4(key: &[u8; 16], data: &mut [u8]) {
    // RC4 repeats its key, so that twice a key is the same key.
    let mut twice = Zeroizing::new([0; 32]);
    for (to, from) in twice.iter_mut().zip(key.iter().chain(key)) {
        *to = *from;
    }
    Rc4::new((&*twice).into()).apply_keystream(data);
}

/// MD5 over parts.
pub(super) fn md5(parts: &[&[u8]]) -> Key<16> {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    Key::new(hash.finalize().into())
}
