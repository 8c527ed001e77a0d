//! Vectors that RFCs and NIST published, as far as lengths of nonces and tags are those of SMB.

use smbd_smb2::security::{Opener, SecurityError, Side, SigningKey};
use smbd_smb2::wire::{Cipher, SigningAlgorithm};

use crate::hex::hex;

#[test]
fn aes_cmac_is_that_of_rfc_4493() {
    let message = hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52ef
        f69f2445df4f9b17ad2b417be66c3710",
    );
    let key = hex("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
    for (len, tag) in [
        (0, "bb1d6929e95937287fa37d129b756746"),
        (16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (40, "dfa66747de9ae63030ca32611497c827"),
        (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ] {
        let (mut signer, _) = SigningKey::new(SigningAlgorithm::AES_CMAC, &key).unwrap().split(Side::Client);
        let signed = signer.sign_rdma([&message[..len]]).unwrap();
        assert_eq!(signed.signature[..], hex(tag), "{len} bytes");
        assert_eq!(signed.nonce(), b"");
    }
}

#[test]
fn aes_gmac_is_that_of_nist_for_associated_data_alone() {
    // gcmEncryptExtIV128.rsp, PTlen = 0, AADlen = 128.
    let key = hex("77be63708971c4e240d1cb79e8d77feb").try_into().unwrap();
    let (_, verifier) = SigningKey::new(SigningAlgorithm::AES_GMAC, &key).unwrap().split(Side::Client);
    let (nonce, tag) = (hex("e0e00f19fed7ba0136a797f3"), hex("209fcc8d3675ed938e9c7166709dd946"));
    let data = hex("7a43ec1d9c0a5a78a0b16533a6213cab");
    assert_eq!(verifier.verify_rdma(&nonce, &tag, [&data[..]]), Ok(()));
    assert_eq!(verifier.verify_rdma(&nonce, &tag, [&data[1..]]), Err(SecurityError::BadSignature));
}

#[test]
fn aes_gcm_is_that_of_its_specification() {
    // Test cases 1, 2, 3 and 13, 14, 15 of "The Galois/Counter Mode of Operation".
    let long =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525
        b16aedf5aa0de657ba637b391aafd255";
    let key = "feffe9928665731c6d6a8f9467308308";
    let (zero, zeros) = ("00000000000000000000000000000000", "000000000000000000000000");
    let nonce = "cafebabefacedbaddecaf888";
    for (cipher, key, nonce, plain, sealed, tag) in [
        (
            Cipher::AES_128_GCM,
            zero.to_owned(),
            zeros,
            zero,
            "0388dace60b6a392f328c2b971b2fe78",
            "ab6e47d42cec13bdf53a67b21257bddf",
        ),
        (
            Cipher::AES_128_GCM,
            key.to_owned(),
            nonce,
            long,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05
             1ba30b396a0aac973d58e091473f5985",
            "4d5c2af327cd64a62cf35abd2ba6fab4",
        ),
        (
            Cipher::AES_256_GCM,
            zero.repeat(2),
            zeros,
            zero,
            "cea7403d4d606b6e074ec5d3baf39d18",
            "d0d1c8a799996bf0265b98b5d48ab919",
        ),
        (
            Cipher::AES_256_GCM,
            key.repeat(2),
            nonce,
            long,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838
             c5f61e6393ba7a0abcc9f662898015ad",
            "b094dac5d93471bdec1a502270e3cc6c",
        ),
    ] {
        let opener = Opener::new(cipher, &hex(&key)).unwrap();
        let mut data = hex(sealed);
        opener.open_rdma(&hex(nonce), &hex(tag), &mut [&mut data]).unwrap();
        assert_eq!(data, hex(plain));
    }
    // Without data, only the empty message of test cases 1 and 13.
    for (cipher, key, tag) in [
        (Cipher::AES_128_GCM, zero.to_owned(), "58e2fccefa7e3061367f1d57a4e7455a"),
        (Cipher::AES_256_GCM, zero.repeat(2), "530f8afbc74536b9a963b4f1c4cb738b"),
    ] {
        let opener = Opener::new(cipher, &hex(&key)).unwrap();
        opener.open_rdma(&hex(zeros), &hex(tag), &mut []).unwrap();
    }
}
