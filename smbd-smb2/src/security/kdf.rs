//! Keys from keys: SP800-108 in counter mode over HMAC-SHA256 (3.1.4.2).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::secret::{Key, SECRET_MAX};

/// A key of `N` bytes, at most 32: one round of the counter. `label` ends with its null character, and `key` is at most
/// [`SECRET_MAX`] bytes.
pub(super) fn derive<const N: usize>(key: &[u8], label: &[u8], context: &[u8]) -> Key<N> {
    const { assert!(N <= 32) };
    let mut mac = Hmac::<Sha256>::new(Key::<SECRET_MAX>::padded(key).bytes().into());
    // `r` is 32: so long is the counter, whose first value is 1; and so is the length of the result in bits.
    mac.update(&1_u32.to_be_bytes());
    mac.update(label);
    mac.update(&[0]);
    mac.update(context);
    mac.update(&bits(N).to_be_bytes());
    let round = Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()));
    Key::padded(&*round)
}

const fn bits(bytes: usize) -> u32 {
    if bytes > 16 { 256 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::super::hex::hex;
    use super::*;

    /// Published by Microsoft: "Encryption in SMB 3.0: A protocol perspective", 2012.
    #[test]
    fn the_keys_of_3_0_are_those_that_microsoft_published() {
        let key = hex("B4546771B515F766A86735532DD6C4F0");
        let up = derive::<16>(&key, b"SMB2AESCCM\0", b"ServerIn \0");
        assert_eq!(up.bytes()[..], hex("261B72350558F2E9DCF613070383EDBF"));
        let down = derive::<16>(&key, b"SMB2AESCCM\0", b"ServerOut\0");
        assert_eq!(down.bytes()[..], hex("8FE2B57EC34D2DB5B1A9727F526BBDB5"));
    }

    /// Published by Microsoft: "SMB 3.1.1 Encryption in Windows 10", 2015.
    #[test]
    fn the_keys_of_3_1_1_are_those_that_microsoft_published() {
        let key = hex("419FDDF34C1E001909D362AE7FB6AF79");
        let preauth = hex("B23F3CBFD69487D9832B79B1594A367CDD950909B774C3A4C412B4FCEA9EDDDBA7DB256BA2EA30E9\
             77F11F9B113247578E0E915C6D2A513B8F2FCA5707DC8770");
        let up = derive::<16>(&key, b"SMBC2SCipherKey\0", &preauth);
        assert_eq!(up.bytes()[..], hex("A2F5E80E5D59103034F32E52F698E5EC"));
        let down = derive::<16>(&key, b"SMBS2CCipherKey\0", &preauth);
        assert_eq!(down.bytes()[..], hex("748C50868C90F302962A5C35F5F9A8BF"));
    }
}
