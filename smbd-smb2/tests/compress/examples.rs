//! The examples of MS-XCA, and two messages that Windows sent.

use smbd_smb2::compress::{huffman, lz77, lznt1};

use super::round_trip::{Codec, decoded, encoded};

const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

pub fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn abc() -> Vec<u8> {
    b"abc".repeat(100)
}

/// Lengths of codes, all zero but those of these symbols, and what follows.
fn with_lengths(lengths: &[(usize, u8)], rest: &str) -> Vec<u8> {
    let mut data = vec![0; 256];
    for &(symbol, length) in lengths {
        data[symbol / 2] |= length << (symbol % 2 * 4);
    }
    data.extend(bytes(rest));
    data
}

/// 3.2: letters up to `v` have codes of five bits, the others and the end of four.
fn alphabet_huffman() -> Vec<u8> {
    let letters = (97..=122).map(|symbol| (symbol, if symbol < 119 { 5 } else { 4 }));
    let lengths: Vec<_> = letters.chain([(256, 4)]).collect();
    with_lengths(&lengths, "d8 52 3e d7 94 11 5b e9 19 5f f9 d6 7c df 8d 04 00 00 00 00")
}

fn abc_huffman() -> Vec<u8> {
    with_lengths(&[(97, 3), (98, 3), (99, 2), (256, 2), (287, 2)], "a8 dc 00 00 ff 26 01")
}

const ABC_PLAIN: &str = "ff ff ff 1f 61 62 63 17 00 0f ff 26 01";
const ALPHABET_PLAIN: &str =
    "3f 00 00 00 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73 74 75 76 77 78 79 7a";

#[test]
fn the_examples_of_3_1_are_decompressed_and_compressed_to_the_same_bytes() {
    for (compressed, plain) in [(bytes(ALPHABET_PLAIN), ALPHABET.to_vec()), (bytes(ABC_PLAIN), abc())] {
        assert_eq!(decoded(Codec::Lz77, &compressed, plain.len()), Ok(plain.clone()));
        assert_eq!(encoded(Codec::Lz77, &plain), compressed);
    }
}

#[test]
fn the_examples_of_3_2_are_decompressed_and_compressed_to_the_same_length() {
    for (compressed, plain) in [(alphabet_huffman(), ALPHABET.to_vec()), (abc_huffman(), abc())] {
        assert_eq!(decoded(Codec::Huffman, &compressed, plain.len()), Ok(plain.clone()));
        assert_eq!(encoded(Codec::Huffman, &plain).len(), compressed.len());
    }
}

#[test]
fn the_example_of_3_3_is_decompressed() {
    let compressed = bytes(
        "38 b0 88 46 23 20 00 20 47 20 41 00 10 a2 47 01 a0 45 20 44 00 08 45 01 50 79 00 c0 45 20 05 24 13 88 05 b4 02 4a 44 ef 03 58 02 \
         8c 09 16 01 48 45 00 be 00 9e 00 04 01 18 90 00",
    );
    let plain = b"F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# E D E A F# F# G A A G \
F# E D D E F# E D D\0";
    let mut out = vec![0; plain.len()];
    assert_eq!(lznt1::decode(&compressed, &mut out), Ok(()));
    assert_eq!(out, plain);
}

#[test]
fn a_length_of_three_forms_that_windows_sent_is_decompressed() {
    // 128 KiB of 0xff, of a capture of 2019.
    let compressed = bytes("ff ff ff 7f ff 07 00 0f ff 00 00 fc ff 01 00");
    let mut out = vec![0; 131_072];
    assert_eq!(lz77::decode(&compressed, &mut out), Ok(()));
    assert!(out.iter().all(|byte| *byte == 0xff));
}

/// CO-7
#[test]
fn flags_of_no_item_may_follow_the_last_or_not() {
    let mut compressed = vec![0; 4];
    compressed.extend([7; 32]);
    let mut out = [0; 32];
    assert_eq!(lz77::decode(&compressed, &mut out), Ok(()));
    for flags in [[0xff; 4], [0; 4]] {
        assert_eq!(lz77::decode(&[&compressed[..], &flags].concat(), &mut out), Ok(()));
    }
}

/// CO-8
#[test]
fn a_match_of_64_kib_and_more_of_huffman_has_its_length_in_32_bits() {
    // A literal, and a match of symbol 256 + 15 and distance 1. Both have a code of one bit.
    let length = 100_000_u32;
    let mut compressed = with_lengths(&[(7, 1), (271, 1)], "00 40 00 00 ff 00 00");
    compressed.extend((length - 3).to_le_bytes());
    let mut out = vec![0; length as usize + 1];
    assert_eq!(huffman::Decoder::default().decode(&compressed, &mut out), Ok(()));
    assert!(out.iter().all(|byte| *byte == 7));
}

/// CO-9
#[test]
fn a_block_of_huffman_ends_with_the_item_that_reaches_64_kib_and_the_next_counts_from_there() {
    let first = |length: u32| {
        let mut block = with_lengths(&[(7, 1), (271, 1)], "00 40 00 00 ff 00 00");
        block.extend((length - 3).to_le_bytes());
        block
    };
    // The first is longer by 464 bytes, so the literal behind both matches is no later than the second's 64 KiB.
    let (one, other) = (65_999, 65_199);
    let compressed = [first(one), first(other)].concat();
    let mut out = vec![0; (one + other) as usize + 3];
    assert_eq!(huffman::Decoder::default().decode(&compressed, &mut out), Ok(()));
    assert!(out.iter().all(|byte| *byte == 7));
}
