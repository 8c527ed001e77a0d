//! What is measured: 1 MiB of data, as [`smbd_smb2::client`] signs, encrypts, verifies and decrypts them, by RDMA and in messages, and as
//! crates do it that have the whole of an algorithm and take data in one piece.

mod measured;

use aes_gcm::aead::{AeadInOut, KeyInit, Nonce};
use aes_gcm::aes::{Aes128, Aes256};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use ccm::consts::{U11, U16};
use smbd_repository::instructions::{Operation as Scene, Work};
use smbd_smb2::security::{Opener, Sealer, Side, SigningKey};
use smbd_smb2::wire::{Cipher, SessionId, SigningAlgorithm};

type Aes128Ccm = Ccm<Aes128, U16, U11>;
type Aes256Ccm = Ccm<Aes256, U16, U11>;

const KEY: [u8; 32] = [7; 32];
const SIGNING_KEY: [u8; 16] = [7; 16];
const SIZE: usize = 1 << 20;

/// Of a MiB; few repetitions are enough.
const fn scene(name: &'static str, what: &'static str, scene: fn(u32) -> Work) -> Scene {
    Scene::new(name, what, scene).between(1, 5)
}

/// All scenes. A goal is nine tenths of the speed of the crate.
macro_rules! operations {
    (
        ciphers { $($cipher:literal = $CIPHER:ident $called:literal, goal $fast:literal, $whole:ty: $crate_of:literal;)* }
        signing { $($key:literal = $ALGORITHM:ident $named:literal, goal $quick:literal, $sign_whole:expr => $crates:literal;)* }
    ) => {
        pub const OPERATIONS: &[Scene] = &[
            $(
                scene(concat!($cipher, "_encrypt"), concat!($called, ": 1 MiB encrypted to another place"), |count| {
                    encrypt(count, Cipher::$CIPHER)
                })
                .goal($fast)
                .beside(concat!($cipher, "_crate")),
                scene(concat!($cipher, "_decrypt"), concat!($called, ": 1 MiB decrypted in place"), |count| {
                    decrypt(count, Cipher::$CIPHER)
                })
                .goal($fast)
                .beside(concat!($cipher, "_crate_decrypt")),
                scene(concat!($cipher, "_seal"), concat!($called, ": a message of 1 MiB encrypted in place"), |count| {
                    seal(count, Cipher::$CIPHER)
                })
                .goal($fast)
                .beside(concat!($cipher, "_crate")),
                scene(concat!($cipher, "_open"), concat!($called, ": a message of 1 MiB decrypted in place"), |count| {
                    open(count, Cipher::$CIPHER)
                })
                .goal($fast)
                .beside(concat!($cipher, "_crate_decrypt")),
                scene(
                    concat!($cipher, "_crate"),
                    concat!("the crate ", $crate_of, ", encrypted in place"),
                    encrypt_whole::<$whole>,
                ),
                scene(
                    concat!($cipher, "_crate_decrypt"),
                    concat!("the crate ", $crate_of, ", decrypted in place"),
                    decrypt_whole::<$whole>,
                ),
            )*
            $(
                scene(concat!($key, "_sign"), concat!($named, ": 1 MiB signed"), |count| {
                    sign(count, SigningAlgorithm::$ALGORITHM)
                })
                .goal($quick)
                .beside(concat!($key, "_crate")),
                scene(concat!($key, "_verify"), concat!($named, ": 1 MiB verified"), |count| {
                    verify(count, SigningAlgorithm::$ALGORITHM)
                })
                .goal($quick)
                .beside(concat!($key, "_crate")),
                scene(concat!($key, "_crate"), concat!("the ", $crates), $sign_whole),
            )*
        ];
    };
}

operations! {
    ciphers {
        "gcm" = AES_128_GCM "AES-128-GCM", goal 4_305_000, Aes128Gcm: "aes-gcm";
        "ccm" = AES_128_CCM "AES-128-CCM", goal 4_706_000, Aes128Ccm: "ccm";
        "gcm256" = AES_256_GCM "AES-256-GCM", goal 4_642_000, Aes256Gcm: "aes-gcm";
        "ccm256" = AES_256_CCM "AES-256-CCM", goal 5_334_000, Aes256Ccm: "ccm";
    }
    signing {
        "gmac" = AES_GMAC "AES-GMAC", goal 2_585_000, sign_whole => "crate aes-gcm";
        "cmac" = AES_CMAC "AES-CMAC", goal 5_316_000, mac_whole::<cmac::Cmac<Aes128>> => "crate cmac";
        "hmac" = HMAC_SHA256 "HMAC-SHA256", goal 249_305_000, mac_whole::<hmac::Hmac<sha2::Sha256>> => "crates hmac and sha2";
    }
}

/// The key of a cipher.
fn key(cipher: Cipher) -> &'static [u8] {
    let is_long = [Cipher::AES_256_CCM, Cipher::AES_256_GCM].contains(&cipher);
    &KEY[..if is_long { 32 } else { 16 }]
}

fn data() -> Vec<u8> {
    (0..SIZE).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn encrypt(count: u32, cipher: Cipher) -> Work {
    let mut sealer = Sealer::new(cipher, key(cipher)).expect("a cipher");
    let (data, mut into) = (data(), vec![0; SIZE]);
    Box::new(move || {
        for _ in 0..count {
            measured::encrypt(&mut sealer, &data, &mut into).expect("room");
        }
        Box::new(into)
    })
}

fn decrypt(count: u32, cipher: Cipher) -> Work {
    let mut sealer = Sealer::new(cipher, key(cipher)).expect("a cipher");
    let opener = Opener::new(cipher, key(cipher)).expect("a cipher");
    let mut data = data();
    Box::new(move || {
        for _ in 0..count {
            let signature = sealer.seal_rdma(&mut [&mut data]).expect("room");
            measured::decrypt(&opener, &signature, &mut data).expect("what was encrypted");
        }
        Box::new(data)
    })
}

fn seal(count: u32, cipher: Cipher) -> Work {
    let mut sealer = Sealer::new(cipher, key(cipher)).expect("a cipher");
    let mut data = data();
    Box::new(move || {
        for _ in 0..count {
            measured::seal(&mut sealer, &mut data).expect("a nonce");
        }
        Box::new(data)
    })
}

fn open(count: u32, cipher: Cipher) -> Work {
    let mut sealer = Sealer::new(cipher, key(cipher)).expect("a cipher");
    let opener = Opener::new(cipher, key(cipher)).expect("a cipher");
    let mut data = data();
    Box::new(move || {
        for _ in 0..count {
            let header = sealer.seal_message(SessionId(1), &mut [&mut data]).expect("a nonce");
            measured::open(&opener, &header, &mut data).expect("what was encrypted");
        }
        Box::new(data)
    })
}

fn sign(count: u32, algorithm: SigningAlgorithm) -> Work {
    let (mut signer, _) = SigningKey::new(algorithm, &SIGNING_KEY).expect("an algorithm").split(Side::Client);
    let data = data();
    Box::new(move || {
        for _ in 0..count {
            measured::sign(&mut signer, &data).expect("a nonce");
        }
        Box::new(signer)
    })
}

fn verify(count: u32, algorithm: SigningAlgorithm) -> Work {
    let key = || SigningKey::new(algorithm, &SIGNING_KEY).expect("an algorithm");
    let ((mut signer, _), (_, verifier)) = (key().split(Side::Server), key().split(Side::Client));
    let data = data();
    let signature = signer.sign_rdma([&data[..]]).expect("a nonce");
    Box::new(move || {
        for _ in 0..count {
            measured::verify(&verifier, &signature, &data).expect("what was signed");
        }
        Box::new(verifier)
    })
}

fn encrypt_whole<A: AeadInOut + KeyInit + 'static>(count: u32) -> Work {
    let cipher = A::new_from_slice(&KEY[..A::key_size()]).expect("so many bytes");
    let mut data = data();
    Box::new(move || {
        for _ in 0..count {
            measured::encrypt_whole(&cipher, &Nonce::<A>::default(), &mut data).expect("room");
        }
        Box::new(data)
    })
}

fn decrypt_whole<A: AeadInOut + KeyInit + 'static>(count: u32) -> Work {
    let cipher = A::new_from_slice(&KEY[..A::key_size()]).expect("so many bytes");
    let (nonce, mut data) = (Nonce::<A>::default(), data());
    Box::new(move || {
        for _ in 0..count {
            let tag = cipher.encrypt_inout_detached(&nonce, &[], data.as_mut_slice().into()).expect("room");
            measured::decrypt_whole(&cipher, &nonce, &tag, &mut data).expect("what was encrypted");
        }
        Box::new(data)
    })
}

fn sign_whole(count: u32) -> Work {
    let cipher = Aes128Gcm::new_from_slice(&SIGNING_KEY).expect("16 bytes");
    let data = data();
    Box::new(move || {
        for _ in 0..count {
            measured::sign_whole(&cipher, &Nonce::<Aes128Gcm>::default(), &data).expect("room");
        }
        Box::new(data)
    })
}

fn mac_whole<M: cmac::Mac + KeyInit + Clone + 'static>(count: u32) -> Work {
    let mac = <M as KeyInit>::new_from_slice(&SIGNING_KEY).expect("16 bytes");
    let data = data();
    Box::new(move || {
        for _ in 0..count {
            measured::mac_whole(mac.clone(), &data);
        }
        Box::new(data)
    })
}
