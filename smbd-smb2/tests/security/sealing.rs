//! Laws of encryption, and a comparison with the crates of RustCrypto that take a message in one piece.

use std::collections::BTreeSet;

use aes_gcm::aead::array::Array;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::aes::{Aes128, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use ccm::consts::{U11, U16};
use proptest::prelude::*;
use smbd_smb2::security::{KeySchedule, Opener, PreauthHash, Sealer, Secret, SecurityError, Side};
use smbd_smb2::wire::{Cipher, SessionId, SigningAlgorithm, Transform, WireError, transform};

use crate::tools::cut_mut;

const CIPHERS: [Cipher; 4] =
    [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];

fn key(cipher: Cipher) -> Vec<u8> {
    let long = matches!(cipher, Cipher::AES_256_CCM | Cipher::AES_256_GCM);
    (0..if long { 32 } else { 16 }).map(|at| at * 7 + 1).collect()
}

fn both(cipher: Cipher) -> (Sealer, Opener) {
    (Sealer::new(cipher, &key(cipher)).unwrap(), Opener::new(cipher, &key(cipher)).unwrap())
}

fn cipher() -> impl Strategy<Value = Cipher> {
    prop::sample::select(&CIPHERS[..])
}

fn data(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), len)
}

/// By `aes-gcm` or `ccm`: the tag.
fn reference(cipher: Cipher, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Vec<u8> {
    fn with<A: AeadInOut + KeyInit>(key: &[u8], nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Vec<u8> {
        let nonce = Array::try_from(nonce).unwrap();
        A::new_from_slice(key)
            .unwrap()
            .encrypt_inout_detached(&nonce, associated, data.into())
            .unwrap()
            .to_vec()
    }
    let with = match cipher {
        Cipher::AES_128_CCM => with::<Ccm<Aes128, U16, U11>>,
        Cipher::AES_256_CCM => with::<Ccm<Aes256, U16, U11>>,
        Cipher::AES_128_GCM => with::<Aes128Gcm>,
        _ => with::<Aes256Gcm>,
    };
    with(&key(cipher), nonce, associated, data)
}

proptest! {
    #[test]
    fn messages_and_data_in_pieces_are_encrypted_as_the_one_piece_crates_do_it(
        cipher in cipher(), plain in data(1..9000), places in prop::collection::vec(any::<usize>(), 0..12),
        session: u64,
    ) {
        let (mut sealer, opener) = both(cipher);
        let mut message = plain.clone();
        let header = sealer.seal_message(SessionId(session), &mut cut_mut(&mut message, &places)).unwrap();
        let mut other = plain.clone();
        let nonce_len = if matches!(cipher, Cipher::AES_128_CCM | Cipher::AES_256_CCM) { 11 } else { 12 };
        let tag = reference(cipher, &header[20..20 + nonce_len], &header[transform::AUTHENTICATED], &mut other);
        prop_assert_eq!(&message, &other);
        prop_assert_eq!(&header[4..20], tag);
        let places: Vec<_> = places.iter().map(|place| place / 2).collect();
        prop_assert_eq!(opener.open_message(&header, &mut cut_mut(&mut message, &places)), Ok(()));
        prop_assert_eq!(&message, &plain);

        let mut transfer = plain.clone();
        let signed = sealer.seal_rdma(&mut cut_mut(&mut transfer, &places)).unwrap();
        let mut other = plain.clone();
        let tag = reference(cipher, signed.nonce(), &[], &mut other);
        prop_assert_eq!(&transfer, &other);
        prop_assert_eq!(&signed.signature[..], tag);
        let opened = opener.open_rdma(signed.nonce(), &signed.signature, &mut cut_mut(&mut transfer, &places));
        prop_assert_eq!(opened, Ok(()));
        prop_assert_eq!(&transfer, &plain);
    }

    #[test]
    fn nothing_is_left_of_a_message_with_a_flipped_bit(
        cipher in cipher(), plain in data(1..200), bit: prop::sample::Index, places in prop::collection::vec(any::<usize>(), 0..4),
    ) {
        let (mut sealer, opener) = both(cipher);
        let mut message = plain.clone();
        let mut header = sealer.seal_message(SessionId(1), &mut [&mut message]).unwrap();
        // All but ProtocolId: SessionId finds the key, and is authenticated besides.
        let bit = bit.index((header.len() - 4 + message.len()) * 8) + 32;
        match header.get_mut(bit / 8) {
            Some(byte) => *byte ^= 1 << (bit % 8),
            None => message[bit / 8 - transform::LEN] ^= 1 << (bit % 8),
        }
        let sealed = message.clone();
        match opener.open_message(&header, &mut cut_mut(&mut message, &places)).unwrap_err() {
            SecurityError::BadEncryption => prop_assert!(message.iter().all(|byte| *byte == 0)),
            SecurityError::Size { .. } | SecurityError::Flags(_) => prop_assert_eq!(message, sealed),
            other => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn nothing_is_left_of_data_with_a_flipped_bit(
        cipher in cipher(), plain in data(1..200), bit: prop::sample::Index,
    ) {
        let (mut sealer, opener) = both(cipher);
        let mut transfer = plain;
        let signed = sealer.seal_rdma(&mut [&mut transfer]).unwrap();
        let (mut nonce, mut signature) = (signed.nonce().to_vec(), signed.signature);
        let bit = bit.index((nonce.len() + 16 + transfer.len()) * 8);
        let mut bytes: Vec<_> = nonce.iter_mut().chain(&mut signature).chain(&mut transfer).collect();
        *bytes[bit / 8] ^= 1 << (bit % 8);
        let opened = opener.open_rdma(&nonce, &signature, &mut [&mut transfer]);
        prop_assert_eq!(opened, Err(SecurityError::BadEncryption));
        prop_assert!(transfer.iter().all(|byte| *byte == 0));
    }
}

#[test]
fn every_bit_of_one_message_with_each_cipher_is_seen() {
    for cipher in CIPHERS {
        let (mut sealer, opener) = both(cipher);
        let mut message = [0x5a; 40];
        let header = sealer.seal_message(SessionId(u64::MAX), &mut [&mut message]).unwrap();
        let sealed = [&header[..], &message].concat();
        for bit in 32..sealed.len() * 8 {
            let mut sealed = sealed.clone();
            sealed[bit / 8] ^= 1 << (bit % 8);
            let (header, message) = sealed.split_at_mut(transform::LEN);
            opener.open_message(header, &mut [message]).expect_err("a flipped bit");
        }
    }
}

#[test]
fn no_nonce_comes_twice_over_messages_and_data() {
    for cipher in CIPHERS {
        let (mut sealer, _) = both(cipher);
        let mut nonces = BTreeSet::new();
        for at in 0..300 {
            let mut data = [1; 3];
            let nonce = if at % 3 == 0 {
                let signed = sealer.seal_rdma(&mut [&mut data]).unwrap();
                signed.nonce().to_vec()
            } else if at % 3 == 1 {
                sealer.seal_rdma_into(&[&[7; 3]], &mut data).unwrap().nonce().to_vec()
            } else {
                let header = sealer.seal_message(SessionId(at % 2), &mut [&mut data]).unwrap();
                Transform::parse(&header).unwrap().nonce.to_vec()
            };
            // By what the ciphers see of it.
            assert!(nonces.insert(nonce[..11].to_vec()));
        }
        assert_eq!(sealer.used(), 300);
    }
}

#[test]
fn the_bytes_behind_the_nonce_are_zeros() {
    for cipher in CIPHERS {
        let (mut sealer, _) = both(cipher);
        for _ in 0..260 {
            let header = sealer.seal_message(SessionId(1), &mut [&mut [0]]).unwrap();
            assert_eq!(Transform::parse(&header).unwrap().nonce[11..], [0; 5]);
        }
    }
}

#[test]
fn a_limit_ends_all_uses_of_a_key_and_changes_nothing() {
    let (mut sealer, _) = both(Cipher::AES_128_GCM);
    sealer.limit(2);
    sealer.limit(3);
    let mut data = [9; 20];
    sealer.seal_message(SessionId(1), &mut [&mut data]).unwrap();
    sealer.seal_rdma(&mut [&mut data]).unwrap();
    let before = data;
    let exhausted = SecurityError::Exhausted { used: 2 };
    assert_eq!(sealer.seal_rdma(&mut [&mut data]), Err(exhausted));
    assert_eq!(sealer.seal_message(SessionId(1), &mut [&mut data]), Err(exhausted));
    assert_eq!((data, sealer.used()), (before, 2));
}

#[test]
fn a_header_that_says_something_else_is_refused_before_anything_is_decrypted() {
    let (mut sealer, opener) = both(Cipher::AES_256_CCM);
    let mut message = *b"a message";
    let header = sealer.seal_message(SessionId(1), &mut [&mut message]).unwrap();
    let sealed = message;
    let open = |header: &[u8], message: &mut [u8]| opener.open_message(header, &mut [message]);

    let mut other = header;
    other[42] = 3;
    assert_eq!(open(&other, &mut message), Err(SecurityError::Flags(3)));
    assert_eq!(open(&header, &mut message[1..]), Err(SecurityError::Size { stated: 9, got: 8 }));
    assert_eq!(open(&header, &mut []), Err(SecurityError::Empty));
    for len in 0..transform::LEN {
        let refused = open(&header[..len], &mut message);
        assert!(matches!(refused, Err(SecurityError::Wire(WireError::Truncated { .. }))), "{refused:?}");
    }
    assert_eq!(message, sealed);
    assert_eq!(open(&header, &mut message), Ok(()));
    assert_eq!(&message, b"a message");
    assert_eq!(sealer.seal_message(SessionId(1), &mut [&mut [], &mut []]), Err(SecurityError::Empty));
}

#[test]
fn data_of_no_bytes_are_authenticated_too() {
    for cipher in CIPHERS {
        let (mut sealer, opener) = both(cipher);
        let signed = sealer.seal_rdma(&mut []).unwrap();
        assert_eq!(opener.open_rdma(signed.nonce(), &signed.signature, &mut [&mut []]), Ok(()));
        let refused = opener.open_rdma(signed.nonce(), &[0; 16], &mut []);
        assert_eq!(refused, Err(SecurityError::BadEncryption));
        let refused = opener.open_rdma(signed.nonce(), &signed.signature[..15], &mut []);
        assert_eq!(refused, Err(SecurityError::SignatureLength { got: 15 }));
        let refused = opener.open_rdma(&[0; 13], &signed.signature, &mut []);
        assert!(matches!(refused, Err(SecurityError::NonceLength { got: 13, .. })));
    }
}

#[test]
fn a_message_that_goes_one_way_is_none_that_goes_the_other_way() {
    let preauth = PreauthHash::new();
    let secret = Secret::new(&[3; 16]).unwrap();
    let schedule = KeySchedule::Smb311 {
        signing: SigningAlgorithm::AES_GMAC,
        cipher: Some(Cipher::AES_128_GCM),
        preauth: &preauth,
    };
    let own = |side| schedule.session(side, &secret).unwrap().encryption.unwrap();
    let (mut sealer, opener) = own(Side::Client);
    let mut message = [1; 9];
    let header = sealer.seal_message(SessionId(1), &mut [&mut message]).unwrap();
    let sealed = message;
    assert_eq!(opener.open_message(&header, &mut [&mut message]), Err(SecurityError::BadEncryption));
    message = sealed;
    assert_eq!(own(Side::Server).1.open_message(&header, &mut [&mut message]), Ok(()));
}

#[test]
fn keys_of_another_length_and_other_ciphers_are_refused() {
    for cipher in CIPHERS {
        let expected = key(cipher).len();
        for got in [0, 15, 17, 31, 33, 48 - expected] {
            let refused = Sealer::new(cipher, &vec![0; got]).unwrap_err();
            assert_eq!(refused, SecurityError::KeyLength { got, expected });
        }
    }
    for cipher in [Cipher::NONE, Cipher(5)] {
        assert_eq!(Opener::new(cipher, &[0; 16]).unwrap_err(), SecurityError::UnknownCipher(cipher));
        let (preauth, secret) = (PreauthHash::new(), Secret::new(&[3; 16]).unwrap());
        let schedule = KeySchedule::Smb311 {
            signing: SigningAlgorithm::AES_CMAC,
            cipher: Some(cipher),
            preauth: &preauth,
        };
        assert_eq!(
            schedule.session(Side::Client, &secret).unwrap_err(),
            SecurityError::UnknownCipher(cipher)
        );
    }
}

#[test]
fn dialects_without_a_cipher_have_no_encryption_and_2_x_signs_with_the_session_key() {
    let secret = Secret::new(&[3; 20]).unwrap();
    let keys = KeySchedule::Smb2.session(Side::Client, &secret).unwrap();
    assert_eq!(keys.signer.algorithm(), SigningAlgorithm::HMAC_SHA256);
    assert_eq!(keys.application_key.expose(), [3; 16]);
    assert!(keys.encryption.is_none());
    let plain = KeySchedule::Smb30 { can_encrypt: false }.session(Side::Client, &secret).unwrap();
    assert!(plain.encryption.is_none());
    assert_eq!(plain.signer.algorithm(), SigningAlgorithm::AES_CMAC);
}

#[test]
fn debug_shows_no_key() {
    let secret = Secret::new(&[0xAB; 16]).unwrap();
    let keys = KeySchedule::Smb30 { can_encrypt: true }.session(Side::Client, &secret).unwrap();
    let text = format!("{secret:?} {keys:?} {:?}", smbd_smb2::security::NtHash::new([0xAB; 16]));
    // 0xab, 171.
    for part in ["ab,", "ab ab", "171", "abab"] {
        assert!(!text.to_lowercase().contains(part), "{text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn channels_of_a_session_have_nonces_of_their_own_and_one_key() {
    for cipher in CIPHERS {
        let (mut first, opener) = both(cipher);
        let mut sealers = vec![first.channel().unwrap(), first.channel().unwrap()];
        assert_eq!(sealers[0].channel().unwrap_err(), SecurityError::Channels, "only the first makes others");
        sealers.push(first);
        let mut nonces = BTreeSet::new();
        for sealer in &mut sealers {
            for _ in 0..300 {
                let mut message = *b"a message";
                let header = sealer.seal_message(SessionId(1), &mut [&mut message]).unwrap();
                assert_eq!(opener.clone().open_message(&header, &mut [&mut message]), Ok(()));
                assert!(nonces.insert(header[20..36].to_vec()), "a message");
                let signed = sealer.seal_rdma(&mut [&mut message]).unwrap();
                let mut nonce = signed.nonce().to_vec();
                nonce.resize(16, 0);
                assert!(nonces.insert(nonce), "data");
            }
        }
    }
}

#[test]
fn a_session_has_65_535_channels_besides_its_first_and_they_have_its_limit() {
    let (mut first, _) = both(Cipher::AES_128_GCM);
    first.limit(2);
    for _ in 0..u16::MAX {
        first.channel().unwrap();
    }
    assert_eq!(first.channel().unwrap_err(), SecurityError::Channels);
    let (mut first, _) = both(Cipher::AES_128_GCM);
    first.limit(2);
    let mut other = first.channel().unwrap();
    assert!((0..2).all(|_| other.seal_rdma(&mut []).is_ok()));
    assert_eq!(other.seal_rdma(&mut []), Err(SecurityError::Exhausted { used: 2 }));
}
