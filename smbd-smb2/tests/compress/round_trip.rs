//! Data that were compressed are decompressed to the same.

use proptest::collection::vec;
use proptest::prelude::*;
use smbd_smb2::compress::pattern::{Segment, Segments};
use smbd_smb2::compress::{DataError, huffman, lz4, lz77, lznt1};

#[derive(Clone, Copy, Debug)]
pub enum Codec {
    Lz77,
    Huffman,
    Lznt1,
    Lz4,
}

pub const ALL: [Codec; 4] = [Codec::Lz77, Codec::Huffman, Codec::Lznt1, Codec::Lz4];

/// Compresses to a slice of this length.
pub fn encode(codec: Codec, plain: &[u8], room: usize) -> Option<Vec<u8>> {
    let mut out = vec![0xaa; room];
    let len = match codec {
        Codec::Lz77 => lz77::Encoder::default().encode(plain, &mut out),
        Codec::Huffman => huffman::Encoder::default().encode(plain, &mut out),
        Codec::Lznt1 => lznt1::Encoder::default().encode(plain, &mut out),
        Codec::Lz4 => lz4::Encoder::default().encode(plain, &mut out),
    }?;
    out.truncate(len);
    Some(out)
}

pub fn encoded(codec: Codec, plain: &[u8]) -> Vec<u8> {
    encode(codec, plain, 2 * plain.len() + 1024).unwrap()
}

pub fn decoded(codec: Codec, compressed: &[u8], size: usize) -> Result<Vec<u8>, DataError> {
    let mut out = vec![0x55; size];
    match codec {
        Codec::Lz77 => lz77::decode(compressed, &mut out),
        Codec::Huffman => huffman::Decoder::default().decode(compressed, &mut out),
        Codec::Lznt1 => lznt1::decode(compressed, &mut out),
        Codec::Lz4 => lz4::decode(compressed, &mut out),
    }?;
    Ok(out)
}

/// Data with runs, repetitions near and far, and parts of no pattern.
pub fn data() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        (any::<u8>(), 0..9000_usize).prop_map(|(byte, len)| vec![byte; len]),
        (vec(any::<u8>(), 1..40), 0..700_usize).prop_map(|(word, count)| word.repeat(count)),
        vec(any::<u8>(), 0..3000),
        vec(0..4_u8, 0..3000),
    ];
    vec(part, 0..8).prop_map(|parts| {
        let all = parts.concat();
        // Everything once more, farther away.
        [&all[..], &all[all.len() / 2..]].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_data_are_the_same_after_compression_and_decompression(plain in data()) {
        for codec in ALL {
            let compressed = encoded(codec, &plain);
            let again = decoded(codec, &compressed, plain.len());
            prop_assert!(again.as_deref() == Ok(&plain[..]), "{codec:?}: {:?}", again.map(|_| "other data"));
        }
    }

    #[test]
    fn a_slice_that_is_too_short_is_no_error_of_another_kind(plain in data(), missing in 1..5000_usize) {
        for codec in ALL {
            let room = encoded(codec, &plain).len();
            prop_assert_eq!(encode(codec, &plain, room.saturating_sub(missing)).filter(|_| room >= missing), None);
        }
    }

    #[test]
    fn segments_of_a_message_are_the_message_and_a_run_has_one_byte(message in data()) {
        let mut all = Vec::new();
        for segment in Segments::new(&message) {
            let (bytes, is_run) = match segment {
                Segment::Run(bytes) => (bytes, true),
                Segment::Data(bytes) => (bytes, false),
            };
            prop_assert!(!bytes.is_empty());
            prop_assert!(!is_run || bytes.len() >= 64 && bytes.iter().all(|byte| *byte == bytes[0]));
            all.extend_from_slice(bytes);
        }
        prop_assert!(all == message);
    }
}

#[test]
fn an_encoder_has_the_same_result_whatever_it_compressed_before() {
    let (one, other) = (b"one and another, ".repeat(900), b"something else, ".repeat(5000));
    let mut out = [[0; 100_000]; 2];
    let (mut lz77, mut huffman, mut lznt1) =
        (lz77::Encoder::default(), huffman::Encoder::default(), lznt1::Encoder::default());
    let mut results = |plain: &[u8], at: usize| {
        let out = &mut out[at];
        let mut all = Vec::new();
        for at in 0..3 {
            let len = match at {
                0 => lz77.encode(plain, out),
                1 => huffman.encode(plain, out),
                _ => lznt1.encode(plain, out),
            };
            all.push(out[..len.unwrap()].to_vec());
        }
        all
    };
    let before = results(&one, 0);
    results(&other, 1);
    assert!(results(&one, 0) == before);
}

#[test]
fn runs_are_found_at_the_front_at_the_back_and_in_the_middle() {
    let message = [vec![0; 64], vec![1, 2, 3], vec![7; 9000], vec![4, 5, 6], vec![9; 64]].concat();
    let found: Vec<_> = Segments::new(&message).collect();
    let expected = [
        Segment::Run(&[0; 64]),
        Segment::Data(&[1, 2, 3]),
        Segment::Run(&[7; 9000]),
        Segment::Data(&[4, 5, 6]),
        Segment::Run(&[9; 64]),
    ];
    assert_eq!(found, expected);
    // One byte fewer than the least at each end is none (3.1.4.4.1).
    let message = [vec![0; 63], vec![1, 2, 3], vec![9; 63]].concat();
    assert_eq!(Segments::new(&message).collect::<Vec<_>>(), [Segment::Data(&message)]);
}

#[test]
fn every_run_of_4096_bytes_is_found_wherever_it_begins() {
    for before in (1..2100).step_by(13) {
        let message = [[1, 2].repeat(before), vec![3; 4096], vec![1, 2]].concat();
        let run = Segments::new(&message).find(|segment| matches!(segment, Segment::Run(_)));
        assert_eq!(run, Some(Segment::Run(&[3; 4096])), "behind {} bytes", 2 * before);
    }
}

/// The code would be longer than 15 bits.
#[test]
fn counts_like_fibonacci_s_numbers_make_a_code_of_15_bits_at_most() {
    let (mut plain, mut counts) = (Vec::new(), (1_usize, 1_usize));
    for byte in 0..22_u8 {
        plain.extend(std::iter::repeat_n(byte.wrapping_mul(11), counts.0));
        counts = (counts.1, counts.0 + counts.1);
    }
    // Shuffled, so that there are hardly any matches: a linear congruence.
    let mut at = 1_usize;
    for place in (1..plain.len()).rev() {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        plain.swap(place, (at >> 33) % (place + 1));
    }
    assert_eq!(decoded(Codec::Huffman, &encoded(Codec::Huffman, &plain), plain.len()), Ok(plain));
}
