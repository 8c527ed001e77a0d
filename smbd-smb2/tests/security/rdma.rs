//! Data that go by RDMA: encrypted to another place, and what is read of SMB2_RDMA_CRYPTO_TRANSFORM.

use proptest::prelude::*;
use smbd_smb2::security::{Opener, RdmaTransforms, Sealer, SecurityError, Side, SigningKey};
use smbd_smb2::wire::{Cipher, List, RdmaTransformId, RdmaTransformType, SigningAlgorithm};

use crate::tools::cut;

const CIPHERS: [(Cipher, usize); 4] = [
    (Cipher::AES_128_CCM, 11),
    (Cipher::AES_128_GCM, 12),
    (Cipher::AES_256_CCM, 11),
    (Cipher::AES_256_GCM, 12),
];

fn key(cipher: Cipher) -> Vec<u8> {
    vec![9; if matches!(cipher, Cipher::AES_256_CCM | Cipher::AES_256_GCM) { 32 } else { 16 }]
}

fn sealer(cipher: Cipher) -> Sealer {
    Sealer::new(cipher, &key(cipher)).unwrap()
}

proptest! {
    #[test]
    fn data_encrypted_to_another_place_are_those_encrypted_in_place_and_stay_as_they_are(
        which in 0..4_usize, plain in prop::collection::vec(any::<u8>(), 0..10_000),
        places in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let (cipher, _) = CIPHERS[which];
        let mut in_place = plain.clone();
        let expected = sealer(cipher).seal_rdma(&mut [&mut in_place]).unwrap();
        let before = plain.clone();
        let mut into = vec![0x5a; plain.len()];
        let signature = sealer(cipher).seal_rdma_into(&cut(&plain, &places), &mut into).unwrap();
        prop_assert_eq!((signature, &into, &plain), (expected, &in_place, &before));
    }
}

#[test]
fn what_data_are_encrypted_to_is_as_long_as_they_are() {
    let mut sealer = sealer(Cipher::AES_128_GCM);
    for room in [2, 4] {
        let mut into = vec![0x5a; room];
        let refused = sealer.seal_rdma_into(&[&[1, 2], &[3]], &mut into);
        assert_eq!(refused, Err(SecurityError::Room { len: 3, room: room as u64 }));
        assert_eq!(into, vec![0x5a; room]);
    }
    assert_eq!(sealer.used(), 0);
}

#[test]
fn a_signature_and_a_nonce_have_the_lengths_of_the_cipher() {
    for (cipher, nonce_len) in CIPHERS {
        let opener = Opener::new(cipher, &key(cipher)).unwrap();
        let sent = sealer(cipher).seal_rdma(&mut [&mut [1; 20]]).unwrap();
        let crypto = sent.crypto(RdmaTransformType::ENCRYPTION);
        assert_eq!((opener.rdma_signature(&crypto), crypto.nonce.len()), (Ok(sent), nonce_len));
        for len in [0, 10, 11, 12, 13].into_iter().filter(|len| *len != nonce_len) {
            let other = smbd_smb2::wire::RdmaCryptoTransform { nonce: &[1; 13][..len], ..crypto };
            let error = SecurityError::NonceLength { got: len, expected: nonce_len };
            assert_eq!(opener.rdma_signature(&other), Err(error));
        }
        for len in [0, 15, 17] {
            let other = smbd_smb2::wire::RdmaCryptoTransform { signature: &[1; 17][..len], ..crypto };
            assert_eq!(opener.rdma_signature(&other), Err(SecurityError::SignatureLength { got: len }));
        }
    }
}

#[test]
fn a_nonce_belongs_to_signatures_of_aes_gmac_only() {
    for (algorithm, len) in [
        (SigningAlgorithm::AES_GMAC, 12),
        (SigningAlgorithm::AES_CMAC, 0),
        (SigningAlgorithm::HMAC_SHA256, 0),
    ] {
        let (mut signer, _) = SigningKey::new(algorithm, &[3; 16]).unwrap().split(Side::Client);
        let (_, verifier) = SigningKey::new(algorithm, &[3; 16]).unwrap().split(Side::Server);
        let sent = signer.sign_rdma([&b"da"[..], b"ta"]).unwrap();
        let crypto = sent.crypto(RdmaTransformType::SIGNING);
        assert_eq!((verifier.rdma_signature(&crypto), crypto.nonce.len()), (Ok(sent), len));
        verifier.verify_rdma(sent.nonce(), &sent.signature, [&b"data"[..]]).unwrap();
        let other = smbd_smb2::wire::RdmaCryptoTransform { nonce: &[1; 5], ..crypto };
        let error = SecurityError::NonceLength { got: 5, expected: len };
        assert_eq!(verifier.rdma_signature(&other), Err(error));
    }
}

#[test]
fn transforms_are_the_ids_of_a_list_and_none_is_not_one() {
    for transforms in
        [RdmaTransforms::NONE, RdmaTransforms::ALL, RdmaTransforms { signing: true, ..RdmaTransforms::NONE }]
    {
        assert_eq!(RdmaTransforms::of(List::from(transforms.ids())), transforms);
        assert_eq!(transforms.is_empty(), transforms.ids().is_empty());
        assert_eq!(
            transforms.has(RdmaTransformType::ENCRYPTION),
            transforms.ids().contains(&RdmaTransformId::ENCRYPTION)
        );
        assert_eq!(
            transforms.has(RdmaTransformType::SIGNING),
            transforms.ids().contains(&RdmaTransformId::SIGNING)
        );
        assert_eq!(transforms.common(RdmaTransforms::ALL), transforms);
        assert!(!transforms.has(RdmaTransformType(3)) && transforms.common(RdmaTransforms::NONE).is_empty());
    }
    let other = [RdmaTransformId::NONE, RdmaTransformId(9)];
    assert_eq!(RdmaTransforms::of(List::from(&other)), RdmaTransforms::NONE);
}
