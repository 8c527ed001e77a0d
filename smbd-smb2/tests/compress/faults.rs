//! Data that are wrong: the reason for each, and that there is always an answer.

use proptest::collection::vec;
use proptest::prelude::*;
use smbd_smb2::compress::{Fault, huffman, lz4, lz77, lznt1};

use super::examples::bytes;
use super::round_trip::{ALL, Codec, data, decoded, encoded};

fn fault(codec: Codec, compressed: &[u8], size: usize) -> Fault {
    decoded(codec, compressed, size).expect_err("it is wrong").fault
}

#[test]
fn data_of_lz77_that_are_wrong_are_refused_with_a_reason() {
    for (compressed, size, expected) in [
        ("", 1, Fault::Truncated),
        ("00 00 00", 1, Fault::Truncated),
        ("00 00 00 00", 1, Fault::Truncated),
        ("00 00 00 00 61", 2, Fault::Truncated),
        ("ff ff ff 7f 61 07", 20, Fault::Truncated),
        ("ff ff ff 7f 61 07 00", 20, Fault::Truncated),
        ("ff ff ff 7f 61 07 00 0f", 40, Fault::Truncated),
        ("ff ff ff 7f 61 07 00 0f ff 00", 400, Fault::Truncated),
        ("ff ff ff 7f 61 08 00", 4, Fault::Distance { distance: 2 }),
        ("ff ff ff ff 00 00", 3, Fault::Distance { distance: 1 }),
        ("ff ff ff 7f 61 00 00", 3, Fault::Room { length: 3, room: 2 }),
        ("ff ff ff 7f 61 07 00 0f ff 15 00", 100, Fault::Length { value: 21 }),
        ("ff ff ff 7f 61 07 00 0f ff 00 00 15 00 00 00", 100, Fault::Length { value: 21 }),
        ("ff ff ff 7f 61 07 00 0f ff 00 00 ff ff ff ff", 9, Fault::Room { length: 0x1_0000_0002, room: 8 }),
        ("ff ff ff 7f 61 62", 1, Fault::Trailing { left: 1 }),
        ("ff ff ff 7f 61 ff ff ff ff", 1, Fault::Trailing { left: 4 }),
    ] {
        assert_eq!(fault(Codec::Lz77, &bytes(compressed), size), expected, "{compressed}");
    }
}

#[test]
fn a_code_that_is_not_complete_or_more_is_refused() {
    let mut lengths = [0; 300];
    assert_eq!(fault(Codec::Huffman, &lengths, 9), Fault::Code { filled: 0 });
    lengths[0] = 0x01;
    assert_eq!(fault(Codec::Huffman, &lengths, 9), Fault::Code { filled: 16384 });
    lengths[1] = 0x11;
    assert_eq!(fault(Codec::Huffman, &lengths, 9), Fault::Code { filled: 49152 });
    assert_eq!(fault(Codec::Huffman, &[0x11; 300], 9), Fault::Code { filled: 512 * 16384 });
    assert_eq!(fault(Codec::Huffman, &[0x11; 255], 9), Fault::Truncated);
}

#[test]
fn data_of_huffman_that_are_wrong_are_refused_with_a_reason() {
    // Symbols 0 and 271, of one bit each.
    let with = |rest: &str| {
        let mut data = vec![0; 256];
        (data[0], data[135]) = (1, 0x10);
        data.extend(bytes(rest));
        data
    };
    for (rest, size, expected) in [
        ("", 1, Fault::Truncated),
        ("00 00", 1, Fault::Truncated),
        ("00 00 00 00", 40, Fault::Truncated),
        ("00 80 00 00", 40, Fault::Truncated),
        ("00 80 00 00 00", 40, Fault::Distance { distance: 1 }),
        ("00 40 00 00 00", 18, Fault::Room { length: 18, room: 17 }),
        ("00 40 00 00 ff 0e 00", 40, Fault::Length { value: 14 }),
        ("00 40 00 00 ff 00 00 0e 00 00 00", 40, Fault::Length { value: 14 }),
        ("00 40 00 00 ff 00 00 ff ff ff ff", 40, Fault::Room { length: 0x1_0000_0002, room: 39 }),
        ("00 00 00 00 00 00 00", 1, Fault::Trailing { left: 3 }),
    ] {
        assert_eq!(fault(Codec::Huffman, &with(rest), size), expected, "{rest}");
    }
}

#[test]
fn data_of_lznt1_that_are_wrong_are_refused_with_a_reason() {
    for (compressed, size, expected) in [
        ("", 1, Fault::Truncated),
        ("00 00", 1, Fault::Truncated),
        ("01 b0 00", 1, Fault::Truncated),
        ("01 a0 00 61", 1, Fault::Signature { header: 0xa001 }),
        ("00 30 61 62", 1, Fault::Trailing { left: 1 }),
        ("01 30 61 62", 1, Fault::Room { length: 2, room: 1 }),
        ("00 30 61", 2, Fault::Chunk { length: 1 }),
        ("02 b0 01 00 10", 9, Fault::Distance { distance: 2 }),
        ("02 b0 00 61 62", 1, Fault::Room { length: 1, room: 0 }),
        ("01 b0 01 61", 9, Fault::Truncated),
        ("03 b0 02 61 00 00", 3, Fault::Room { length: 3, room: 2 }),
    ] {
        assert_eq!(fault(Codec::Lznt1, &bytes(compressed), size), expected, "{compressed}");
    }
}

/// CO-10
#[test]
fn a_chunk_that_is_not_the_last_and_shorter_than_4096_bytes_is_refused() {
    let one = [&[0x03, 0x30][..], &[7; 4], &[0xff, 0x3f], &[8; 4096]].concat();
    assert_eq!(fault(Codec::Lznt1, &one, 4 + 4096), Fault::Chunk { length: 4 });
}

#[test]
fn data_of_lz4_that_are_wrong_are_refused_with_a_reason() {
    assert_eq!(fault(Codec::Lz4, &[], 1), Fault::Truncated);
    assert_eq!(fault(Codec::Lz4, &[0x20, 1], 2), Fault::Truncated);
    assert_eq!(fault(Codec::Lz4, &[0x10, 1, 0, 0, 0], 9), Fault::Distance { distance: 0 });
    assert_eq!(fault(Codec::Lz4, &[0x20, 1, 2], 1), Fault::Room { length: 2, room: 1 });
    assert_eq!(fault(Codec::Lz4, &[0x10, 1], 2), Fault::Truncated);
}

#[test]
fn an_error_says_where_it_is_and_which_section_defines_it() {
    let error = decoded(Codec::Lz77, &bytes("ff ff ff 7f 61 08 00"), 4).unwrap_err();
    let said = "a match has distance 2, at byte 7 of the compressed data, after 1 plain bytes (MS-XCA 2.4.4)";
    assert_eq!(error.to_string(), said);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_decompressed_or_refused(compressed in vec(any::<u8>(), 0..600), size in 0..5000_usize) {
        for codec in ALL {
            let _ = decoded(codec, &compressed, size);
        }
    }

    #[test]
    fn data_with_a_changed_byte_or_another_size_are_decompressed_or_refused(
        plain in data(),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
        size in 0..70_000_usize,
    ) {
        let (mut lz, mut hf) = (vec![0; size], vec![0; size]);
        for codec in ALL {
            let mut compressed = encoded(codec, &plain);
            let _ = decoded(codec, &compressed, size);
            if !compressed.is_empty() {
                *at.get_mut(&mut compressed) ^= change;
            }
            let _ = decoded(codec, &compressed, plain.len());
            let _ = lz77::decode(&compressed, &mut lz);
            let _ = huffman::Decoder::default().decode(&compressed, &mut hf);
            let _ = lznt1::decode(&compressed, &mut hf);
            let _ = lz4::decode(&compressed, &mut hf);
        }
    }

    /// No part of the data says that it is the whole.
    #[test]
    fn data_that_end_early_are_refused(plain in data(), at in any::<prop::sample::Index>()) {
        for codec in [Codec::Lz77, Codec::Lznt1] {
            let compressed = encoded(codec, &plain);
            // Behind the last item of LZ77 there may be flags of none.
            let len = compressed.len().saturating_sub(4);
            if len > 0 {
                prop_assert!(decoded(codec, &compressed[..at.index(len)], plain.len()).is_err());
            }
        }
    }
}
