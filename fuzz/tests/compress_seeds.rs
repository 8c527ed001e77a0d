//! Seeds of the targets for compression: data and messages of each algorithm.

mod common;

use smbd_smb2::compress::{Compressor, Negotiated, huffman, lz4, lz77, lznt1};
use smbd_smb2::wire::CompressionAlgorithm as Id;

/// Text, a run, text again.
fn plain(words: usize, run: usize) -> Vec<u8> {
    let text = b"a line of text, and another line of it; ".repeat(words);
    [&text[..], &vec![7; run], b"something else", &text].concat()
}

/// What the targets of algorithms take.
fn sized(plain: &[u8], compressed: Option<&[u8]>) -> Vec<u8> {
    let [low, high, top, _] = (plain.len() as u32).to_le_bytes();
    [&[low, high, top], compressed.expect("room")].concat()
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut out = vec![0; 400_000];
    for (at, plain) in [plain(1, 0), plain(3, 400), plain(200, 70_000)].iter().enumerate() {
        let mut seed = |name: &str, len: Option<usize>, out: &[u8]| {
            seeds.push((format!("{name}/seed-{at}"), sized(plain, len.map(|len| &out[..len]))));
        };
        let len = lz77::Encoder::default().encode(plain, &mut out);
        seed("lz77", len, &out);
        let len = huffman::Encoder::default().encode(plain, &mut out);
        seed("huffman", len, &out);
        let len = lznt1::Encoder::default().encode(plain, &mut out);
        seed("lznt1", len, &out);
        let len = lz4::Encoder::default().encode(plain, &mut out);
        seed("lz4", len, &out);
    }
    for (choice, id) in (0..).zip([Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4]) {
        for chained in [true, false] {
            let choice = choice | 4 | if chained { 0 } else { 16 };
            let message = [&b"\xfeSMB"[..], &[0; 60], &plain(60, 5000)].concat();
            let mut sent = Vec::new();
            let negotiated = Negotiated::new(&[id, Id::PATTERN_V1], chained);
            assert!(Compressor::new(negotiated).compress(&message, 64, &mut sent));
            seeds.push((format!("decompress/seed-{choice}"), [&[choice], &sent[..]].concat()));
            // Literals, a run, what was before, a sequence, and all of it again.
            let parts = [&[choice, 64, 0, 10][..], b"some bytes", &[0xe1, 200, 0x72, 255, 7, 250, 0xf2, 255]]
                .concat();
            seeds.push((format!("compress/seed-{choice}"), parts));
        }
    }
    seeds
}

#[test]
fn the_seeds_are_compressed_data_and_messages() {
    common::kept(seeds());
}
