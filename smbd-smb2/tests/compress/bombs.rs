//! Little data that become much: memory stays within the limit of the connection.

use allocation_counter::{AllocationInfo, measure};
use smbd_smb2::compress::{Compressor, DecompressError, Decompressor, Negotiated, size_limit};
use smbd_smb2::wire::{
    Compressed, CompressedParts, CompressionAlgorithm as Id, CompressionFlag, Pattern, Payload, Records,
};

use super::round_trip::{Codec, encoded};

const MAX: u32 = 8 << 20;

fn negotiated() -> Negotiated {
    Negotiated::new(&[Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4, Id::PATTERN_V1], true)
}

fn chain(original_size: u32, payloads: &[Payload<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = CompressedParts::Chained(Records::from(payloads));
    Compressed { original_size, parts }.write(&mut out).unwrap();
    out
}

fn pattern_chain(original_size: u32, repetitions: &[u32]) -> Vec<u8> {
    let patterns: Vec<_> =
        repetitions.iter().map(|&repetitions| Pattern { pattern: 0, repetitions }.data()).collect();
    let head = Payload {
        algorithm: Id::NONE,
        flag: CompressionFlag::CHAINED,
        original_size: None,
        data: b"\xfeSMB",
    };
    let runs = patterns.iter().map(|data| Payload {
        algorithm: Id::PATTERN_V1,
        flag: CompressionFlag::NONE,
        original_size: None,
        data,
    });
    chain(original_size, &[head].into_iter().chain(runs).collect::<Vec<_>>())
}

/// What decompression allocates, and its result.
fn decompressed(sent: &[u8]) -> (AllocationInfo, Result<usize, DecompressError>) {
    let mut decompressor = Decompressor::new(negotiated());
    let mut result = Ok(0);
    let used = measure(|| {
        let mut out = Vec::new();
        result = decompressor.decompress(sent, size_limit(MAX), &mut out).map(|()| out.len());
    });
    (used, result)
}

#[test]
fn eight_mib_from_36_bytes_take_the_memory_of_the_message_and_no_more() {
    let sent = pattern_chain(MAX, &[MAX - 4]);
    assert_eq!(sent.len(), 36);
    let (used, result) = decompressed(&sent);
    assert_eq!(result, Ok(MAX as usize));
    assert!(used.bytes_max <= u64::from(MAX) && used.count_total == 1, "{used:?}");
}

#[test]
fn a_message_that_says_more_than_the_limit_or_than_its_payloads_allocates_nothing() {
    let more = size_limit(MAX) as u32 + 1;
    let refused = [
        pattern_chain(more, &[more - 4]),
        pattern_chain(u32::MAX, &[u32::MAX - 4]),
        // Many, each within the limit.
        pattern_chain(MAX, &[MAX / 2; 100]),
        pattern_chain(MAX, &[u32::MAX; 3]),
        // What is missing is seen before the last payload is reached.
        pattern_chain(MAX, &[1]),
    ];
    for sent in refused {
        let (used, result) = decompressed(&sent);
        assert!(result.is_err(), "{result:?}");
        assert_eq!(used.count_total, 0, "{used:?}");
    }
}

#[test]
fn a_bomb_in_a_bomb_is_refused_with_the_memory_of_one() {
    let inner = pattern_chain(MAX, &[MAX - 4]);
    let rest = Pattern { pattern: 0, repetitions: MAX - inner.len() as u32 }.data();
    let sent = chain(
        MAX,
        &[
            Payload {
                algorithm: Id::NONE,
                flag: CompressionFlag::CHAINED,
                original_size: None,
                data: &inner,
            },
            Payload {
                algorithm: Id::PATTERN_V1,
                flag: CompressionFlag::NONE,
                original_size: None,
                data: &rest,
            },
        ],
    );
    let (used, result) = decompressed(&sent);
    assert_eq!(result, Err(DecompressError::Protocol(*b"\xfcSMB")));
    assert!(used.bytes_max <= u64::from(MAX), "{used:?}");
}

#[test]
fn data_of_every_algorithm_that_become_more_than_they_say_take_the_memory_of_what_they_say() {
    let plain = vec![0; 1 << 20];
    for (codec, algorithm) in [
        (Codec::Lz77, Id::LZ77),
        (Codec::Huffman, Id::LZ77_HUFFMAN),
        (Codec::Lznt1, Id::LZNT1),
        (Codec::Lz4, Id::LZ4),
    ] {
        let data = encoded(codec, &plain);
        let payload =
            Payload { algorithm, flag: CompressionFlag::CHAINED, original_size: Some(1000), data: &data };
        let (used, result) = decompressed(&chain(1000, &[payload]));
        assert!(matches!(result, Err(DecompressError::Data { .. })), "{algorithm}: {result:?}");
        assert!(used.bytes_max <= 1000, "{algorithm}: {used:?}");
    }
}

#[test]
fn with_room_for_the_message_nothing_is_allocated_in_either_direction() {
    let message = [&b"\xfeSMB"[..], &b"some data, and more of the same, ".repeat(4000)].concat();
    for id in [Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4] {
        for chained in [false, true] {
            let negotiated = Negotiated::new(&[id, Id::PATTERN_V1], chained);
            let (mut compressor, mut decompressor) =
                (Compressor::new(negotiated), Decompressor::new(negotiated));
            let (mut sent, mut received) =
                (Vec::with_capacity(2 * message.len()), Vec::with_capacity(message.len()));
            let used = measure(|| {
                assert!(compressor.compress(&message, 4, &mut sent));
                decompressor.decompress(&sent, 1 << 20, &mut received).unwrap();
            });
            assert_eq!(used.count_total, 0, "{id}: {used:?}");
            assert!(received == message);
        }
    }
}
