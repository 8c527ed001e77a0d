//! The scenes: 256 KiB of the log of a server and of a program, made here, by each algorithm, and whole messages.

mod data;
mod measured;

use smbd_repository::instructions::{Operation as Scene, Work};
use smbd_smb2::compress::{Compressor, DataError, Decompressor, Negotiated, huffman, lz4, lz77, lznt1};
use smbd_smb2::wire::CompressionAlgorithm as Id;

/// Of many items; few repetitions are enough.
const fn scene(name: &'static str, what: &'static str, scene: fn(u32) -> Work) -> Scene {
    Scene::new(name, what, scene).between(1, 3)
}

macro_rules! operations {
    ($($name:literal = $Codec:ident $called:literal;)*) => {
        pub const OPERATIONS: &[Scene] = &[
            $(
                scene(concat!($name, "_log_encode"), concat!($called, ": 256 KiB of a log compressed"), |count| {
                    encode(count, Codec::$Codec(Default::default()), data::log())
                }),
                scene(concat!($name, "_log_decode"), concat!($called, ": 256 KiB of a log decompressed"), |count| {
                    decode(count, Codec::$Codec(Default::default()), data::log())
                }),
                scene(concat!($name, "_program_encode"), concat!($called, ": 256 KiB of a program compressed"), |count| {
                    encode(count, Codec::$Codec(Default::default()), data::program())
                }),
                scene(concat!($name, "_program_decode"), concat!($called, ": 256 KiB of a program decompressed"), |count| {
                    decode(count, Codec::$Codec(Default::default()), data::program())
                }),
            )*
            scene("noise_compress", "a message of 256 KiB that cannot be compressed, looked at", |count| {
                compress(count, data::noise())
            }),
            scene("image_compress", "a message of 256 KiB, zeros but for 4 KiB, compressed", |count| {
                compress(count, data::image())
            }),
            scene("image_decompress", "the same decompressed", |count| decompress(count, data::image())),
        ];
    };
}

operations! {
    "lz77" = Lz77 "LZ77";
    "huffman" = Huffman "LZ77+Huffman";
    "lznt1" = Lznt1 "LZNT1";
    "lz4" = Lz4 "LZ4";
}

#[derive(Debug)]
pub enum Codec {
    Lz77(lz77::Encoder),
    Huffman(Box<(huffman::Encoder, huffman::Decoder)>),
    Lznt1(lznt1::Encoder),
    Lz4(lz4::Encoder),
}

impl Codec {
    #[inline(always)]
    fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Lz77(encoder) => encoder.encode(plain, out),
            Self::Huffman(both) => both.0.encode(plain, out),
            Self::Lznt1(encoder) => encoder.encode(plain, out),
            Self::Lz4(encoder) => encoder.encode(plain, out),
        }
    }

    #[inline(always)]
    fn decode(&mut self, data: &[u8], out: &mut [u8]) -> Result<(), DataError> {
        match self {
            Self::Lz77(_) => lz77::decode(data, out),
            Self::Huffman(both) => both.1.decode(data, out),
            Self::Lznt1(_) => lznt1::decode(data, out),
            Self::Lz4(_) => lz4::decode(data, out),
        }
    }
}

fn encode(count: u32, mut codec: Codec, plain: Vec<u8>) -> Work {
    let mut out = vec![0; 2 * plain.len()];
    Box::new(move || {
        for _ in 0..count {
            measured::encode(&mut codec, &plain, &mut out).expect("room");
        }
        Box::new(out)
    })
}

fn decode(count: u32, mut codec: Codec, plain: Vec<u8>) -> Work {
    let mut data = vec![0; 2 * plain.len()];
    let len = codec.encode(&plain, &mut data).expect("room");
    data.truncate(len);
    let mut out = vec![0; plain.len()];
    Box::new(move || {
        for _ in 0..count {
            measured::decode(&mut codec, &data, &mut out).expect("what was compressed");
        }
        Box::new(out)
    })
}

fn negotiated() -> Negotiated {
    Negotiated::new(&[Id::LZ77, Id::PATTERN_V1], true)
}

fn compress(count: u32, message: Vec<u8>) -> Work {
    let (mut compressor, mut out) = (Compressor::new(negotiated()), Vec::with_capacity(2 * message.len()));
    Box::new(move || {
        for _ in 0..count {
            measured::compress(&mut compressor, &message, &mut out);
        }
        Box::new(out)
    })
}

fn decompress(count: u32, message: Vec<u8>) -> Work {
    let mut sent = Vec::new();
    assert!(Compressor::new(negotiated()).compress(&message, 64, &mut sent));
    let (mut decompressor, mut out) = (Decompressor::new(negotiated()), Vec::with_capacity(message.len()));
    Box::new(move || {
        for _ in 0..count {
            measured::decompress(&mut decompressor, &sent, &mut out).expect("what was compressed");
        }
        Box::new(out)
    })
}
