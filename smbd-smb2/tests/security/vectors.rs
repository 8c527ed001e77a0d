//! `vectors.txt`: what OpenSSL and pyspnego make of the same keys and messages. `vectors.py` wrote it, and says how.

use std::collections::BTreeMap;

use smbd_smb2::security::{KeySchedule, PreauthHash, Secret, SessionKeys, Side, SigningKey};
use smbd_smb2::wire::{Cipher, SessionId, SigningAlgorithm, header};

use crate::hex::hex;

const SESSION_ID: SessionId = SessionId(0x1122_3344_5566_7788);

/// A line: values by name.
pub struct Vector(BTreeMap<&'static str, Vec<u8>>);

impl Vector {
    pub fn get(&self, name: &str) -> &[u8] {
        self.0.get(name).map_or(&[], |value| value)
    }

    /// Those that begin with this letter and a number.
    fn numbered(&self, letter: char) -> Vec<(usize, &[u8])> {
        let number = |name: &str| name.strip_prefix(letter)?.parse().ok();
        let mut found: Vec<_> =
            self.0.iter().filter_map(|(name, value)| Some((number(name)?, &value[..]))).collect();
        found.sort_unstable();
        found
    }

    fn side(&self) -> Side {
        if self.get("side") == [0] { Side::Client } else { Side::Server }
    }
}

pub fn vectors(kind: &str) -> Vec<Vector> {
    let lines = include_str!("vectors.txt").lines();
    let found: Vec<_> = lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            let is_it = words.next() == Some(kind);
            is_it.then(|| {
                Vector(words.map(|word| word.split_once('=').unwrap()).map(|(k, v)| (k, hex(v))).collect())
            })
        })
        .collect();
    assert!(!found.is_empty());
    found
}

fn plain(len: usize) -> Vec<u8> {
    (0..len).map(|at| (31 * at + len) as u8).collect()
}

/// The keys of a session of the file.
fn keys(vector: &Vector, side: Side) -> SessionKeys {
    let secret = Secret::new(vector.get("key")).unwrap();
    let preauth = PreauthHash::from_bytes(vector.get("preauth").try_into().unwrap());
    let cipher = Cipher(u16::from_be_bytes(vector.get("cipher").try_into().unwrap()));
    let schedule = if vector.get("dialect") == [3, 0] {
        KeySchedule::Smb30 { can_encrypt: true }
    } else {
        KeySchedule::Smb311 { signing: SigningAlgorithm::AES_CMAC, cipher: Some(cipher), preauth: &preauth }
    };
    schedule.session(side, &secret).unwrap()
}

#[test]
fn messages_and_data_are_encrypted_as_openssl_does_it_and_decrypted_again() {
    for vector in vectors("session") {
        let side = vector.side();
        let (mut sealer, _) = keys(&vector, side).encryption.unwrap();
        let (_, opener) = keys(&vector, side.other()).encryption.unwrap();
        let mut count = 0;
        // In the order in which they were counted: by length.
        for (len, sealed) in vector.numbered('m') {
            let mut message = plain(len);
            let header = sealer.seal_message(SESSION_ID, &mut [&mut message]).unwrap();
            assert_eq!([&header[..], &message].concat(), sealed, "{} of {len}", sealer.cipher());
            opener.open_message(&header, &mut [&mut message]).unwrap();
            assert_eq!(message, plain(len));

            let value = |letter| vector.get(&format!("{letter}{len}"));
            let mut data = plain(len);
            let signature = sealer.seal_rdma(&mut [&mut data]).unwrap();
            assert_eq!(data, value('d'), "{} of {len}", sealer.cipher());
            assert_eq!((signature.nonce(), &signature.signature[..]), (value('n'), value('t')));
            opener.open_rdma(value('n'), value('t'), &mut [&mut data]).unwrap();
            assert_eq!(data, plain(len));
            count += 2;
        }
        assert_eq!(sealer.used(), count);
    }
}

#[test]
fn signing_and_application_keys_are_those_of_openssl_with_128_bits_for_every_cipher() {
    for vector in vectors("session") {
        let own = keys(&vector, Side::Client);
        assert_eq!(own.application_key.expose(), vector.get("application"));
        let key = SigningKey::new(SigningAlgorithm::AES_CMAC, vector.get("signing").try_into().unwrap());
        let (signer, _) = key.unwrap().split(Side::Client);
        let element = [7; 100];
        assert_eq!(own.signer.sign([&element[..]]), signer.sign([&element[..]]));
    }
}

#[test]
fn messages_and_data_are_signed_as_openssl_does_it_and_verified_again() {
    for vector in vectors("signing") {
        let algorithm = SigningAlgorithm(vector.get("algorithm")[0].into());
        let key = || SigningKey::new(algorithm, vector.get("key").try_into().unwrap()).unwrap();
        let (mut signer, _) = key().split(vector.side());
        let (_, verifier) = key().split(vector.side().other());
        for (at, element) in vector.numbered('e') {
            let signature = vector.get(&format!("s{at}"));
            assert_eq!(signer.sign([element]).unwrap(), signature, "{algorithm} {at}");
            let mut element = element.to_vec();
            header::field::SIGNATURE.set(&mut element, signature.try_into().unwrap()).unwrap();
            verifier.verify([&element[..]]).unwrap();
            let mut own = element.clone();
            header::field::FLAGS.set(&mut own, smbd_smb2::wire::Flags::NONE).unwrap();
            verifier.verify([&own[..]]).unwrap_err();
        }
        for (len, signature) in vector.numbered('t') {
            let nonce = vector.get(&format!("n{len}"));
            let data = plain(len);
            let own = signer.sign_rdma([&data[..]]).unwrap();
            assert_eq!((own.nonce(), &own.signature[..]), (nonce, signature), "{algorithm} of {len}");
            verifier.verify_rdma(nonce, signature, [&data[..]]).unwrap();
        }
    }
}
