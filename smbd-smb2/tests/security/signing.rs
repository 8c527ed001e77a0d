//! Laws of signatures.

use proptest::prelude::*;
use smbd_smb2::security::{SecurityError, Side, Signer, SigningKey, Verifier};
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{
    EchoRequest, Flags, Header, MessageId, NtStatus, SigningAlgorithm, WireError, write_element,
};

use crate::tools::cut;

fn both(algorithm: SigningAlgorithm) -> (Signer, Verifier) {
    let key = |side| SigningKey::new(algorithm, &[0x42; 16]).unwrap().split(side);
    (key(Side::Client).0, key(Side::Server).1)
}

fn algorithm() -> impl Strategy<Value = SigningAlgorithm> {
    prop::sample::select(SigningAlgorithm::NAMED)
}

fn element(message_id: u64, rest: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    write_element(&mut element, &Header::request::<EchoRequest>(message_id), &EchoRequest::default())
        .unwrap();
    element.extend_from_slice(rest);
    element
}

proptest! {
    #[test]
    fn pieces_cut_anywhere_have_the_signature_of_the_whole(
        algorithm in algorithm(), id in 0..u64::MAX, rest in prop::collection::vec(any::<u8>(), 0..300),
        places in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let (mut signer, verifier) = both(algorithm);
        let mut element = element(id, &rest);
        let signature = signer.sign([&element[..]]).unwrap();
        prop_assert_eq!(signer.sign(cut(&element, &places)).unwrap(), signature);
        signer.sign_in_place(&mut element).unwrap();
        prop_assert_eq!(verifier.verify(cut(&element, &places)), Ok(()));

        let whole = signer.sign_rdma([&rest[..]]).unwrap();
        let pieces = signer.sign_rdma(cut(&rest, &places)).unwrap();
        for signed in [whole, pieces] {
            let verified = verifier.verify_rdma(signed.nonce(), &signed.signature, cut(&rest, &places));
            prop_assert_eq!(verified, Ok(()));
        }
        prop_assert_eq!(whole.nonce() == pieces.nonce(), algorithm != SigningAlgorithm::AES_GMAC);
    }

    #[test]
    fn every_flipped_bit_of_a_message_is_seen(algorithm in algorithm(), id in 0..u64::MAX, bit in 0..68 * 8_usize) {
        let (signer, verifier) = both(algorithm);
        let mut element = element(id, &[]);
        signer.sign_in_place(&mut element).unwrap();
        element[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(verifier.verify([&element[..]]), Err(SecurityError::BadSignature));
    }

    #[test]
    fn every_flipped_bit_of_data_their_nonce_or_their_signature_is_seen(
        algorithm in algorithm(), data in prop::collection::vec(any::<u8>(), 1..80), bit: prop::sample::Index,
    ) {
        let (mut signer, verifier) = both(algorithm);
        let signed = signer.sign_rdma([&data[..]]).unwrap();
        let (mut nonce, mut signature, mut data) = (signed.nonce().to_vec(), signed.signature, data);
        let bit = bit.index((nonce.len() + 16 + data.len()) * 8);
        let mut bytes: Vec<_> = nonce.iter_mut().chain(&mut signature).chain(&mut data).collect();
        *bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(verifier.verify_rdma(&nonce, &signature, [&data[..]]), Err(SecurityError::BadSignature));
    }
}

#[test]
fn every_bit_of_one_message_of_each_algorithm_is_seen() {
    for algorithm in SigningAlgorithm::NAMED {
        let (signer, verifier) = both(*algorithm);
        let mut element = element(9, b"padding!");
        signer.sign_in_place(&mut element).unwrap();
        for bit in 0..element.len() * 8 {
            element[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                verifier.verify([&element[..]]),
                Err(SecurityError::BadSignature),
                "{algorithm}: {bit}"
            );
            element[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(verifier.verify([&element[..]]), Ok(()));
    }
}

#[test]
fn what_one_side_signs_with_aes_gmac_is_not_taken_for_the_other_sides() {
    let key = || SigningKey::new(SigningAlgorithm::AES_GMAC, &[0x42; 16]).unwrap();
    let ((mut client, of_server), (mut server, of_client)) =
        (key().split(Side::Client), key().split(Side::Server));
    let mut message = element(3, &[]);
    client.sign_in_place(&mut message).unwrap();
    assert_eq!(of_client.verify([&message[..]]), Ok(()));
    assert_eq!(of_server.verify([&message[..]]), Err(SecurityError::BadSignature));
    let (up, down) = (client.sign_rdma([&b"x"[..]]).unwrap(), server.sign_rdma([&b"x"[..]]).unwrap());
    assert_ne!(up.nonce(), down.nonce());
}

#[test]
fn aes_gmac_signs_nothing_that_shares_its_message_id() {
    let server = |algorithm| SigningKey::new(algorithm, &[1; 16]).unwrap().split(Side::Server).0;
    let mut unsolicited = element(u64::MAX, &[]);
    let mut interim = element(12, &[]);
    field::STATUS.set(&mut interim, NtStatus::PENDING).unwrap();
    for (message, message_id) in [(&mut unsolicited, MessageId::UNSOLICITED), (&mut interim, MessageId(12))] {
        let refused = server(SigningAlgorithm::AES_GMAC).sign_in_place(message);
        assert_eq!(refused, Err(SecurityError::NonceShared { message_id }));
        assert_eq!(server(SigningAlgorithm::AES_CMAC).sign_in_place(message), Ok(()));
    }
    // In a request the field is no status.
    let client = SigningKey::new(SigningAlgorithm::AES_GMAC, &[1; 16]).unwrap().split(Side::Client).0;
    assert_eq!(client.sign_in_place(&mut interim), Ok(()));
}

#[test]
fn the_flag_is_signed_and_the_signature_counts_as_zeros() {
    let (signer, _) = both(SigningAlgorithm::HMAC_SHA256);
    let mut message = element(1, b"0123456789");
    signer.sign_in_place(&mut message).unwrap();
    assert!(field::FLAGS.get(&message).unwrap().contains(Flags::SIGNED));
    let signature = field::SIGNATURE.get(&message).unwrap();
    assert_eq!(signer.sign([&message[..]]), Ok(signature));
    assert_eq!(field::SIGNATURE.get(&message), Ok(signature));
}

#[test]
fn an_incomplete_header_is_refused_with_its_first_missing_field() {
    let (signer, verifier) = both(SigningAlgorithm::AES_CMAC);
    let message = element(1, &[]);
    for len in 0..64 {
        for pieces in [cut(&message[..len], &[]), cut(&message[..len], &[len / 2, 1])] {
            let refused = verifier.verify(pieces.clone()).unwrap_err();
            assert!(
                matches!(refused, SecurityError::Wire(WireError::Truncated { got, .. }) if got == len as u64),
                "{refused}"
            );
            assert_eq!(signer.sign(pieces), Err(refused));
        }
    }
}

#[test]
fn a_signature_or_nonce_of_another_length_is_refused() {
    let (mut signer, verifier) = both(SigningAlgorithm::AES_GMAC);
    let signed = signer.sign_rdma([&b"data"[..]]).unwrap();
    let verify = |nonce: &[u8], signature: &[u8]| verifier.verify_rdma(nonce, signature, [&b"data"[..]]);
    for len in 0..16 {
        let refused = verify(signed.nonce(), &signed.signature[..len]);
        assert_eq!(refused, Err(SecurityError::SignatureLength { got: len }));
    }
    for got in [0, 11, 13] {
        let refused = verify(&vec![0; got], &signed.signature);
        assert_eq!(refused, Err(SecurityError::NonceLength { got, expected: 12 }));
    }
    let (_, verifier) = both(SigningAlgorithm::AES_CMAC);
    let refused = verifier.verify_rdma(signed.nonce(), &signed.signature, [&b"data"[..]]);
    assert_eq!(refused, Err(SecurityError::NonceLength { got: 12, expected: 0 }));
}

#[test]
fn a_limit_ends_the_transfers_that_a_key_signs_and_is_never_raised() {
    let (mut signer, _) = both(SigningAlgorithm::AES_GMAC);
    signer.limit(2);
    signer.limit(100);
    assert!((0..2).all(|_| signer.sign_rdma([&b""[..]]).is_ok()));
    assert_eq!(signer.sign_rdma([&b""[..]]), Err(SecurityError::Exhausted { used: 2 }));
}

#[test]
fn an_unknown_algorithm_is_refused() {
    let unknown = SigningAlgorithm(3);
    let refused = SigningKey::new(unknown, &[0; 16]).unwrap_err();
    assert_eq!(refused, SecurityError::UnknownSigning(unknown));
}

#[test]
fn message_ids_that_are_left_to_bindings_are_signed_by_one_of_them_and_once() {
    let (mut signer, verifier) = both(SigningAlgorithm::AES_GMAC);
    assert_eq!(signer.binding(1).unwrap_err(), SecurityError::NoIds);
    signer.leave(MessageId(6));
    let mut bindings = [signer.binding(2).unwrap(), signer.binding(2).unwrap()];
    assert_eq!(signer.binding(2).unwrap_err(), SecurityError::NoIds, "one is left");
    let kept = |id, next, end| Err(SecurityError::NonceKept { message_id: MessageId(id), next, end });
    let mut signed = Vec::new();
    for id in 0..8 {
        let mut sign = |result: Result<(), SecurityError>, message: &[u8]| {
            if result.is_ok() {
                verifier.verify([message]).unwrap();
                signed.push(id);
            }
        };
        let mut message = element(id, b"data");
        sign(signer.sign_in_place(&mut message), &message);
        for binding in &mut bindings {
            let mut message = element(id, b"other");
            sign(binding.sign_in_place(&mut message), &message);
        }
    }
    assert_eq!(signed, [1, 2, 3, 4, 6, 7]);
    assert_eq!(signer.sign_in_place(&mut element(5, b"")), kept(5, 6, u64::MAX));
    assert_eq!(bindings[0].sign_in_place(&mut element(2, b"")), kept(2, 3, 3));
    let said = bindings[0].sign_in_place(&mut element(2, b"")).unwrap_err().to_string();
    assert_eq!(said, "0x0000000000000002 cannot be signed here with AES-GMAC: none is left (3.2.4.1.1)");
}

#[test]
fn algorithms_without_a_nonce_sign_bindings_with_any_message_id() {
    for algorithm in [SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256] {
        let (mut signer, verifier) = both(algorithm);
        signer.leave(MessageId(100));
        let mut binding = signer.binding(2).unwrap();
        for id in [7, 7, 1] {
            let mut message = element(id, b"data");
            binding.sign_in_place(&mut message).unwrap();
            assert_eq!(verifier.verify([&message[..]]), Ok(()));
            signer.sign_in_place(&mut message).unwrap();
        }
    }
}
