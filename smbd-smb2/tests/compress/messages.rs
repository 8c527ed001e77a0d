//! Compressed messages: what is sent, and what ends the connection.

use proptest::prelude::*;
use smbd_smb2::compress::{Compressor, DecompressError, Decompressor, Fault, Negotiated, size_limit};
use smbd_smb2::wire::{
    Compressed, CompressedParts, CompressionAlgorithm as Id, CompressionFlag, Pattern, Payload, Records,
    WireError,
};

use super::round_trip::{Codec, data, encoded};

const LIMIT: usize = 1 << 20;
const LZ: [Id; 4] = [Id::LZNT1, Id::LZ77, Id::LZ77_HUFFMAN, Id::LZ4];

/// A message of SMB2 with a header, and these data behind it.
fn message(data: &[u8]) -> Vec<u8> {
    [&b"\xfeSMB"[..], &[0x40; 60], data].concat()
}

fn all(chained: bool) -> Negotiated {
    Negotiated::new(&[Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4, Id::PATTERN_V1], chained)
}

fn decompress(negotiated: Negotiated, sent: &[u8]) -> Result<Vec<u8>, DecompressError> {
    let mut out = vec![1, 2, 3];
    let result = Decompressor::new(negotiated).decompress(sent, LIMIT, &mut out);
    assert!(result.is_ok() || out.is_empty(), "what was refused is still there");
    result.map(|()| out)
}

fn unchained(original_size: u32, algorithm: Id, plain: &[u8], compressed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = CompressedParts::Unchained { algorithm, flag: CompressionFlag::NONE, plain, compressed };
    Compressed { original_size, parts }.write(&mut out).unwrap();
    out
}

fn chain(original_size: u32, payloads: &[Payload<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = CompressedParts::Chained(Records::from(payloads));
    Compressed { original_size, parts }.write(&mut out).unwrap();
    out
}

const fn first(algorithm: Id, original_size: Option<u32>, data: &[u8]) -> Payload<'_> {
    Payload { algorithm, flag: CompressionFlag::CHAINED, original_size, data }
}

const fn later(algorithm: Id, original_size: Option<u32>, data: &[u8]) -> Payload<'_> {
    Payload { algorithm, flag: CompressionFlag::NONE, original_size, data }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_message_is_the_same_after_compression_and_decompression(
        plain in data(), id in 0..4_usize, chained: bool, pattern: bool, head in 0..200_usize,
    ) {
        let ids = [LZ[id], Id::PATTERN_V1];
        let negotiated = Negotiated::new(&ids[..if pattern { 2 } else { 1 }], chained);
        let message = message(&plain);
        let mut sent = vec![9; 7];
        let is_shorter = Compressor::new(negotiated).compress(&message, head.min(message.len()), &mut sent);
        if is_shorter {
            prop_assert!(sent.len() < message.len());
            prop_assert!(decompress(negotiated, &sent) == Ok(message));
        } else {
            prop_assert!(sent.is_empty());
        }
    }
}

#[test]
fn a_disk_image_of_zeros_data_and_zeros_is_three_payloads_and_a_hundredth_as_long() {
    let message = message(&[vec![0; 400_000], b"data of a file ".repeat(300), vec![0; 400_000]].concat());
    let mut sent = Vec::new();
    assert!(Compressor::new(all(true)).compress(&message, 64, &mut sent));
    let Compressed { original_size, parts: CompressedParts::Chained(payloads) } =
        Compressed::parse(&sent).unwrap()
    else {
        panic!("{sent:?}")
    };
    assert_eq!(original_size as usize, message.len());
    let algorithms: Vec<_> = payloads.iter().map(|payload| payload.unwrap().algorithm).collect();
    assert_eq!(algorithms, [Id::NONE, Id::PATTERN_V1, Id::LZ77, Id::PATTERN_V1]);
    assert!(sent.len() * 100 < message.len(), "{}", sent.len());
}

/// Bytes without a pattern.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn what_cannot_be_compressed_in_the_middle_is_sent_as_it_is() {
    let text = b"a line of a log file, and another one\n".repeat(2000);
    let message = message(&[&text[..], &noise(100_000), &text].concat());
    let mut sent = Vec::new();
    assert!(Compressor::new(all(true)).compress(&message, 64, &mut sent));
    let Compressed { parts: CompressedParts::Chained(payloads), .. } = Compressed::parse(&sent).unwrap()
    else {
        panic!("{sent:?}")
    };
    let found: Vec<_> =
        payloads.iter().map(|payload| (payload.unwrap().algorithm, payload.unwrap().data.len())).collect();
    let algorithms: Vec<_> = found.iter().map(|(algorithm, _)| *algorithm).collect();
    assert_eq!(algorithms, [Id::NONE, Id::LZ77, Id::NONE, Id::LZ77], "{found:?}");
    assert!(found[2].1 > 90_000, "{found:?}");
    assert_eq!(decompress(all(true), &sent), Ok(message));
}

#[test]
fn what_does_not_become_shorter_is_not_compressed() {
    for chained in [false, true] {
        for id in LZ {
            for len in [0, 1, 63, 64, 1000, 1025, 70_000] {
                let mut sent = vec![1];
                let negotiated = Negotiated::new(&[id, Id::PATTERN_V1], chained);
                assert!(
                    !Compressor::new(negotiated).compress(&message(&noise(len)), 64, &mut sent),
                    "{id} {len}"
                );
                assert!(sent.is_empty());
            }
        }
    }
}

#[test]
fn without_an_algorithm_nothing_is_compressed() {
    let message = message(&[0; 5000]);
    for negotiated in [
        Negotiated::default(),
        Negotiated::new(&[Id::NONE, Id(9)], true),
        Negotiated::new(&[Id::PATTERN_V1], false),
    ] {
        assert!(!Compressor::new(negotiated).compress(&message, 64, &mut Vec::new()), "{negotiated:?}");
    }
    // Pattern_V1 alone, in a chain.
    let negotiated = Negotiated::new(&[Id::PATTERN_V1], true);
    let mut sent = Vec::new();
    assert!(Compressor::new(negotiated).compress(&message, 64, &mut sent));
    assert_eq!(decompress(negotiated, &sent), Ok(message));
}

#[test]
fn an_unchained_message_is_taken_where_chains_are_negotiated() {
    let plain = message(&[0; 5000]);
    let sent = unchained(5064, Id::LZ77, &[], &encoded(Codec::Lz77, &plain));
    assert_eq!(decompress(all(true), &sent), Ok(plain.clone()));
    let sent = unchained(5000, Id::LZ77, &plain[..64], &encoded(Codec::Lz77, &plain[64..]));
    assert_eq!(decompress(all(true), &sent), Ok(plain));
}

#[test]
fn an_algorithm_that_is_not_negotiated_ends_the_connection() {
    let plain = message(&[0; 5000]);
    let lz77 = encoded(Codec::Lz77, &plain);
    let other = Negotiated::new(&[Id::LZ4, Id::LZ77_HUFFMAN], true);
    let pattern = Pattern { pattern: 0, repetitions: 5000 }.data();
    for (sent, at, algorithm) in [
        (unchained(5064, Id::LZ77, &[], &lz77), 8, Id::LZ77),
        (unchained(5064, Id::NONE, &[], &plain), 8, Id::NONE),
        (unchained(5064, Id::PATTERN_V1, &[], &pattern), 8, Id::PATTERN_V1),
        (unchained(5064, Id(77), &[], &lz77), 8, Id(77)),
        (chain(5064, &[first(Id::LZ77, Some(5064), &lz77)]), 8, Id::LZ77),
        (
            chain(5064, &[first(Id::NONE, None, &plain[..64]), later(Id::PATTERN_V1, None, &pattern)]),
            80,
            Id::PATTERN_V1,
        ),
        (chain(5064, &[first(Id(6), None, &lz77)]), 8, Id(6)),
    ] {
        assert_eq!(decompress(other, &sent), Err(DecompressError::Algorithm { at, algorithm }));
    }
    assert!(matches!(
        decompress(Negotiated::default(), &unchained(5064, Id::LZ77, &[], &lz77)),
        Err(DecompressError::Algorithm { .. })
    ));
}

/// CO-3
#[test]
fn a_chain_that_is_not_negotiated_ends_the_connection() {
    let sent = chain(64, &[first(Id::NONE, None, &message(&[]))]);
    assert_eq!(decompress(all(false), &sent), Err(DecompressError::Chained));
}

/// CO-4
#[test]
fn flags_that_are_not_those_of_their_place_end_the_connection() {
    let plain = message(&[]);
    let mut sent = chain(64, &[first(Id::NONE, None, &plain)]);
    sent[10] = 2;
    assert!(matches!(
        decompress(all(true), &sent),
        Err(DecompressError::Wire(_) | DecompressError::Flags { .. })
    ));
    let sent = chain(64, &[first(Id::NONE, None, &plain[..32]), first(Id::NONE, None, &plain[32..])]);
    let expected = DecompressError::Flags { at: 48, flag: CompressionFlag::CHAINED };
    assert_eq!(decompress(all(true), &sent), Err(expected));
    let mut sent = unchained(64, Id::LZ77, &[], &encoded(Codec::Lz77, &plain));
    sent[10] = 2;
    assert_eq!(decompress(all(true), &sent), Err(DecompressError::Flags { at: 8, flag: CompressionFlag(2) }));
}

/// CO-1, of which a part was CVE-2020-0796.
#[test]
fn the_limit_holds_for_the_whole_message_and_no_sum_wraps() {
    let plain = message(&[0; 5000]);
    let lz77 = encoded(Codec::Lz77, &plain[64..]);
    let limited = |sent: &[u8], limit| Decompressor::new(all(true)).decompress(sent, limit, &mut Vec::new());
    let sent = unchained(5000, Id::LZ77, &plain[..64], &lz77);
    assert_eq!(limited(&sent, 5064), Ok(()));
    assert_eq!(limited(&sent, 5063), Err(DecompressError::TooLarge { size: 5064, limit: 5063 }));
    let sent = unchained(u32::MAX, Id::LZ77, &plain[..64], &lz77);
    assert_eq!(
        limited(&sent, LIMIT),
        Err(DecompressError::TooLarge { size: u64::from(u32::MAX) + 64, limit: LIMIT })
    );
    let sent = chain(5064, &[first(Id::NONE, None, &plain)]);
    assert_eq!(limited(&sent, 5063), Err(DecompressError::TooLarge { size: 5064, limit: 5063 }));
    assert_eq!(size_limit(8 << 20), (8 << 20) + 272);
}

/// CO-2
#[test]
fn a_payload_that_becomes_more_than_is_missing_ends_the_connection() {
    let plain = message(&[]);
    let pattern = Pattern { pattern: 0, repetitions: 137 }.data();
    for (payload, size) in [
        (later(Id::PATTERN_V1, None, &pattern), 137),
        (later(Id::NONE, None, &[0; 137]), 137),
        (later(Id::LZ77, Some(u32::MAX), &[0; 8]), u32::MAX),
    ] {
        // Fewer than the whole message has, and more than is missing.
        let sent = chain(200, &[first(Id::NONE, None, &plain), payload]);
        assert_eq!(decompress(all(true), &sent), Err(DecompressError::Room { at: 80, size, room: 136 }));
    }
}

#[test]
fn a_payload_with_a_length_that_its_algorithm_cannot_have_ends_the_connection() {
    for (payload, length) in [
        (first(Id::PATTERN_V1, None, &[0; 7]), 7),
        (first(Id::PATTERN_V1, None, &[0; 9]), 9),
        (first(Id::LZ77, Some(64), &[]), 0),
        (first(Id::LZ4, Some(0), &[]), 0),
    ] {
        let expected = DecompressError::Length { at: 8, algorithm: payload.algorithm, length };
        assert_eq!(decompress(all(true), &chain(64, &[payload])), Err(expected));
    }
    let mut sent = chain(64, &[first(Id::LZ77, Some(64), &[])]);
    sent[12] = 3;
    sent.pop();
    assert!(matches!(decompress(all(true), &sent), Err(DecompressError::Wire(WireError::Truncated { .. }))));
}

/// CO-5
#[test]
fn bytes_left_behind_the_last_payload_and_bytes_that_are_missing_end_the_connection() {
    let plain = message(&[]);
    let whole = chain(64, &[first(Id::NONE, None, &plain)]);
    for left in 1..8 {
        let sent = [&whole[..], &vec![0; left]].concat();
        assert!(matches!(decompress(all(true), &sent), Err(DecompressError::Wire(_))), "{left}");
    }
    let sent = chain(65, &[first(Id::NONE, None, &plain)]);
    assert_eq!(decompress(all(true), &sent), Err(DecompressError::Missing { missing: 1 }));
    for len in 0..whole.len() {
        assert!(decompress(all(true), &whole[..len]).is_err(), "{len}");
    }
}

#[test]
fn data_that_become_another_size_end_the_connection_with_the_place_of_the_payload() {
    let plain = message(&[0; 100]);
    let lz77 = encoded(Codec::Lz77, &plain[64..]);
    for (size, expected) in [(99, Fault::Room { length: 99, room: 98 }), (101, Fault::Truncated)] {
        let sent =
            chain(64 + size, &[first(Id::NONE, None, &plain[..64]), later(Id::LZ77, Some(size), &lz77)]);
        let Err(DecompressError::Data { at: 92, algorithm: Id::LZ77, error }) = decompress(all(true), &sent)
        else {
            panic!("{size}: {:?}", decompress(all(true), &sent))
        };
        assert_eq!(error.fault, expected);
    }
}

#[test]
fn a_message_that_is_compressed_or_encrypted_again_ends_the_connection() {
    for protocol in [*b"\xfcSMB", *b"\xfdSMB", *b"\xffSMB", *b"SMB\xfe"] {
        let mut plain = message(&[0; 5000]);
        plain[..4].copy_from_slice(&protocol);
        for sent in [
            unchained(5064, Id::LZ77, &[], &encoded(Codec::Lz77, &plain)),
            chain(5064, &[first(Id::NONE, None, &plain)]),
        ] {
            assert_eq!(decompress(all(true), &sent), Err(DecompressError::Protocol(protocol)));
        }
    }
    let sent = chain(3, &[first(Id::NONE, None, b"\xfeSM")]);
    assert_eq!(decompress(all(true), &sent), Err(DecompressError::Protocol([0; 4])));
}

/// CO-6: what a server of Windows sends for a READ of 128 KiB.
#[test]
fn the_size_of_an_unchained_message_is_that_of_what_is_compressed() {
    let message = message(&[0xff; 70_000]);
    let mut sent = Vec::new();
    assert!(Compressor::new(all(false)).compress(&message, 64, &mut sent));
    let Compressed { original_size, parts: CompressedParts::Unchained { plain, algorithm, .. } } =
        Compressed::parse(&sent).unwrap()
    else {
        panic!("{sent:?}")
    };
    assert_eq!((original_size, plain.len(), algorithm), (70_000, 64, Id::LZ77));
}
