//! Compressed messages, and the data of their algorithms.

use smbd_smb2::compress::pattern::{Segment, Segments};
use smbd_smb2::compress::{Compressor, DataError, Decompressor, Negotiated, huffman, lz4, lz77, lznt1};
use smbd_smb2::wire::CompressionAlgorithm as Id;

const ALGORITHMS: [Id; 4] = [Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4];
/// Largest message.
const LIMIT: usize = 1 << 18;

/// The size of the plain data, in the first three bytes, and compressed data. They become that many bytes or are refused, and are the same
/// after compression.
fn data(
    data: &[u8],
    mut decode: impl FnMut(&[u8], &mut [u8]) -> Result<(), DataError>,
    mut encode: impl FnMut(&[u8], &mut [u8]) -> Option<usize>,
) {
    let Some((&[low, high, top], compressed)) = data.split_first_chunk() else { return };
    let mut plain = vec![0; u32::from_le_bytes([low, high, top & 3, 0]) as usize];
    if let Err(error) = decode(compressed, &mut plain) {
        assert!(error.at <= compressed.len() && error.written <= plain.len(), "{error:?}");
        assert!(error.to_string().len() < 200);
        return;
    }
    let mut again = vec![0; 2 * plain.len() + 1024];
    let len = encode(&plain, &mut again).expect("room");
    let mut same = vec![0xaa; plain.len()];
    decode(&again[..len], &mut same).expect("it was compressed here");
    assert!(same == plain);
}

/// Data of plain LZ77 (MS-XCA 2.4).
pub fn lz77(bytes: &[u8]) {
    let mut encoder = lz77::Encoder::default();
    data(bytes, lz77::decode, |plain, out| encoder.encode(plain, out));
}

/// Data of LZ77+Huffman (MS-XCA 2.2).
pub fn huffman(bytes: &[u8]) {
    let (mut decoder, mut encoder) = (huffman::Decoder::default(), huffman::Encoder::default());
    data(bytes, |data, out| decoder.decode(data, out), |plain, out| encoder.encode(plain, out));
}

/// Data of LZNT1 (MS-XCA 2.5).
pub fn lznt1(bytes: &[u8]) {
    let mut encoder = lznt1::Encoder::default();
    data(bytes, lznt1::decode, |plain, out| encoder.encode(plain, out));
}

/// A block of LZ4.
pub fn lz4(bytes: &[u8]) {
    let mut encoder = lz4::Encoder::default();
    data(bytes, lz4::decode, |plain, out| encoder.encode(plain, out));
}

fn negotiated(choice: u8) -> Negotiated {
    let id = ALGORITHMS[usize::from(choice & 3)];
    let all = [id, Id::PATTERN_V1, Id::LZ77, Id::LZ77_HUFFMAN, Id::LZNT1, Id::LZ4];
    let count = [1, 2, 6, 6][usize::from(choice >> 2 & 3)];
    Negotiated::new(&all[..count], choice & 16 == 0)
}

/// A compressed message, behind a byte for what is negotiated: the memory for its plain form is within the limit, and the plain form is a
/// message of SMB2.
pub fn decompress(bytes: &[u8]) {
    let Some((&choice, message)) = bytes.split_first() else { return };
    let mut out = Vec::new();
    match Decompressor::new(negotiated(choice)).decompress(message, LIMIT, &mut out) {
        Ok(()) => assert!(out.starts_with(b"\xfeSMB") && out.len() <= LIMIT),
        Err(error) => assert!(out.is_empty() && error.to_string().len() < 400, "{error}"),
    }
    assert!(out.capacity() <= LIMIT);
}

/// Any message, made of runs and repetitions that the bytes name: the same after compression and decompression.
pub fn compress(bytes: &[u8]) {
    let Some((&[choice, plain], rest)) = bytes.split_first_chunk() else { return };
    let mut message = b"\xfeSMB".to_vec();
    let mut rest = rest;
    while let Some((&[kind, len], behind)) = rest.split_first_chunk() {
        let len = usize::from(len);
        rest = match kind & 3 {
            0 => {
                let (own, behind) = behind.split_at(len.min(behind.len()));
                message.extend_from_slice(own);
                behind
            }
            1 => {
                message.extend(std::iter::repeat_n(kind, len << (kind >> 5)));
                behind
            }
            2 => {
                let from = message.len().saturating_sub(len << (kind >> 4));
                message.extend_from_within(from..);
                behind
            }
            _ => {
                message.extend((0..len).map(|at| (at * usize::from(kind)) as u8));
                behind
            }
        };
        if message.len() > LIMIT / 2 {
            break;
        }
    }
    let mut all = Vec::new();
    for segment in Segments::new(&message) {
        let (Segment::Run(bytes) | Segment::Data(bytes)) = segment;
        all.extend_from_slice(bytes);
    }
    assert!(all == message);
    let negotiated = negotiated(choice);
    let mut sent = Vec::new();
    if Compressor::new(negotiated).compress(&message, usize::from(plain), &mut sent) {
        assert!(sent.len() < message.len());
        let mut received = Vec::new();
        Decompressor::new(negotiated)
            .decompress(&sent, LIMIT * 2, &mut received)
            .expect("it was compressed here");
        assert!(received == message);
    }
}
