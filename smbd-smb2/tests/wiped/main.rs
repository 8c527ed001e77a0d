//! Keys in the memory of this process, of which this is the only test: no other thread makes keys meanwhile.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;

use smbd_smb2::security::{KeySchedule, PreauthHash, Secret, SessionKeys, Side};
use smbd_smb2::wire::{Cipher, EchoRequest, Header, SessionId, SigningAlgorithm, write_element};

/// What SP800-108 makes of the key 0x51..0x60 and 64 zeros (3.1.4.2), each bit the other way round: this constant is no copy.
const INVERTED: [(&str, u128); 4] = [
    ("Session.SigningKey", 0xe309_d404_5f6c_8778_f035_d726_ebc5_cb2e),
    ("Session.DecryptionKey", 0x9479_a459_744c_0480_7cab_ed5b_737c_5129),
    ("Session.EncryptionKey", 0x8314_c21c_6420_ef60_c1e8_0f64_b9fa_2b8f),
    ("Session.ApplicationKey", 0xac84_f059_815a_e2d7_95d3_1f58_9ed6_22cc),
];

const PAGE: usize = 4096;

/// How often each key is in memory that can be written.
fn copies() -> [usize; 4] {
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = BufReader::new(File::open("/proc/self/maps").unwrap());
    let maps: Vec<String> = maps.lines().map(Result::unwrap).collect();
    let mut found = [0; 4];
    // A page, and what a key that begins on it has on the next.
    let mut buffer = vec![0; PAGE + 15];
    let zeros = vec![0; PAGE + 15];
    let own = buffer.as_ptr() as u64;
    for (start, end) in maps.iter().filter_map(|line| writable(line)) {
        for at in (start..end).step_by(PAGE) {
            let bytes = &mut buffer[..usize::try_from(end - at).unwrap().min(PAGE + 15)];
            if memory.read_exact_at(bytes, at).is_err() {
                break;
            }
            if *bytes == zeros[..bytes.len()] {
                continue;
            }
            for (index, bytes) in bytes.windows(16).enumerate() {
                let inverted = !u128::from_be_bytes(bytes.try_into().unwrap());
                let is_own = (own..own + zeros.len() as u64).contains(&(at + index as u64));
                for (count, (_, key)) in found.iter_mut().zip(INVERTED) {
                    *count += usize::from(key == inverted && !is_own);
                }
            }
        }
    }
    found
}

fn writable(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    words.next()?.starts_with("rw").then_some((number(start)?, number(end)?))
}

/// Uses all keys as a session does: deeper on the stack than where they are dropped, as a server does for each request. What wipes the
/// stack begins below its own callers.
#[inline(never)]
fn used(signing: SigningAlgorithm, cipher: Cipher) -> Box<SessionKeys> {
    let mut deeper = [0_u8; 4096];
    black_box(&mut deeper);
    used_here(signing, cipher)
}

#[inline(never)]
fn used_here(signing: SigningAlgorithm, cipher: Cipher) -> Box<SessionKeys> {
    let preauth = PreauthHash::new();
    let schedule = KeySchedule::Smb311 { signing, cipher: Some(cipher), preauth: &preauth };
    let key = Secret::new(&std::array::from_fn::<u8, 16, _>(|at| 0x51 + at as u8)).unwrap();
    let mut keys = schedule.session(Side::Server, &key).unwrap();
    let mut message = Vec::new();
    write_element(&mut message, &Header::request::<EchoRequest>(9), &EchoRequest::default()).unwrap();
    keys.signer.sign_in_place(&mut message).unwrap();
    // Only AES-GMAC sees who has signed.
    assert_eq!(keys.verifier.verify([&message[..]]).is_ok(), signing != SigningAlgorithm::AES_GMAC);
    let (sealer, _) = keys.encryption.as_mut().unwrap();
    sealer.seal_message(SessionId(1), &mut [&mut message[..]]).unwrap();
    Box::new(keys)
}

#[test]
fn no_key_is_left_in_memory_when_its_session_is_over() {
    let signings = [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256];
    let ciphers = [Cipher::AES_128_GCM, Cipher::AES_128_CCM];
    for (signing, cipher) in signings.into_iter().flat_map(|signing| ciphers.map(|cipher| (signing, cipher)))
    {
        let keys = used(signing, cipher);
        let live = copies();
        // The server keeps them for answers that are to be sent.
        let moved = Box::new(*keys);
        drop(moved);
        let left = copies();
        assert_eq!(left, [0; 4], "{signing}, {cipher}: {live:?} while it lasts; {INVERTED:x?}");
        assert!(signing == SigningAlgorithm::HMAC_SHA256 || live[0] > 0, "{signing}: the search finds keys");
        assert!(live[1] > 0 && live[2] > 0, "{cipher}: the search finds keys");
    }
}
