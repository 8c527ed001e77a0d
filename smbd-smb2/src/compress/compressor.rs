use alloc::vec::Vec;

use super::density::split;
use super::negotiated::{Algorithm, Negotiated};
use super::pattern::{Segment, Segments};
use super::{huffman, lz4, lz77, lznt1};
use crate::wire::compression::{CHAIN, UNCHAINED_LEN, original, payload};
use crate::wire::{
    Compressed, CompressedParts, CompressionAlgorithm, CompressionFlag, Pattern, Payload, Payloads,
};

/// Longer data are compressed, others are sent as they are (3.1.4.4).
const DATA_MIN: usize = 1024;

/// Compresses the messages of a connection. It has the memory for that, and allocates none later but for the messages: 32 KiB for LZ77,
/// 8 KiB for LZNT1, 16 KiB for LZ4, 300 KiB for LZ77+Huffman.
#[derive(Debug)]
pub struct Compressor {
    negotiated: Negotiated,
    encoder: Option<Encoder>,
}

/// The memory of the preferred algorithm.
#[derive(Debug)]
enum Encoder {
    Lznt1(lznt1::Encoder),
    Lz77(lz77::Encoder),
    Lz77Huffman(huffman::Encoder),
    Lz4(lz4::Encoder),
}

impl Compressor {
    /// For a connection with these algorithms.
    #[must_use]
    pub fn new(negotiated: Negotiated) -> Self {
        let encoder = negotiated.preferred().map(|algorithm| match algorithm {
            Algorithm::Lznt1 => Encoder::Lznt1(lznt1::Encoder::default()),
            Algorithm::Lz77 => Encoder::Lz77(lz77::Encoder::default()),
            Algorithm::Lz77Huffman => Encoder::Lz77Huffman(huffman::Encoder::default()),
            Algorithm::Lz4 => Encoder::Lz4(lz4::Encoder::default()),
        });
        Self { negotiated, encoder }
    }

    /// Puts the compressed form of a message into `out`, in the place of what is there (3.1.4.4). The first `plain` bytes of the message
    /// stay as they are: its header and fixed part, as Windows does. `message` is signed before, and encrypted behind (3.1.4.3).
    ///
    /// False if the message does not become shorter, or nothing that is negotiated can compress it: the message is to be sent as it is. `out`
    /// is empty then. The time is linear in the size of the message.
    pub fn compress(&mut self, message: &[u8], plain: usize, out: &mut Vec<u8>) -> bool {
        out.clear();
        let is_shorter = match message.split_at_checked(plain) {
            Some(_) if u32::try_from(message.len()).is_err() => false,
            Some((head, data)) if self.negotiated.supports_chained_compression() => {
                self.chained(message.len(), head, data, out).is_some()
            }
            Some((head, data)) => self.unchained(head, data, out).is_some(),
            None => false,
        };
        if !is_shorter {
            out.clear();
        }
        is_shorter
    }

    fn unchained(&mut self, head: &[u8], data: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let encoder = self.encoder.as_mut()?;
        let parts = CompressedParts::Unchained {
            algorithm: encoder.id(),
            flag: CompressionFlag::NONE,
            plain: head,
            compressed: &[],
        };
        // CO-6: the size of what is compressed, without what is before it.
        Compressed { original_size: u32::try_from(data.len()).ok()?, parts }.write(out).ok()?;
        encoder.append(data, data.len().checked_sub(UNCHAINED_LEN)?, out)
    }

    fn chained(&mut self, size: usize, head: &[u8], data: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let header = Compressed {
            original_size: u32::try_from(size).ok()?,
            parts: CompressedParts::Chained(Payloads::EMPTY),
        };
        header.write(out).ok()?;
        let mut chain = Chain { encoder: self.encoder.as_mut(), out, plain: None, limit: size };
        chain.keep(head)?;
        if self.negotiated.allows(CompressionAlgorithm::PATTERN_V1) {
            for segment in Segments::new(data) {
                match segment {
                    Segment::Run(run) => chain.run(run)?,
                    Segment::Data(data) => chain.data(data)?,
                }
            }
        } else {
            chain.data(data)?;
        }
        chain.end()
    }
}

impl Encoder {
    fn id(&self) -> CompressionAlgorithm {
        match self {
            Self::Lznt1(_) => CompressionAlgorithm::LZNT1,
            Self::Lz77(_) => CompressionAlgorithm::LZ77,
            Self::Lz77Huffman(_) => CompressionAlgorithm::LZ77_HUFFMAN,
            Self::Lz4(_) => CompressionAlgorithm::LZ4,
        }
    }

    /// Appends compressed data, fewer than `room` bytes. `None` if they are not; `out` has any bytes behind what it had then.
    fn append(&mut self, data: &[u8], room: usize, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let own = match self {
            Self::Lz4(_) => lz4::Encoder::room(data.len()),
            Self::Lznt1(_) | Self::Lz77(_) | Self::Lz77Huffman(_) => room,
        };
        out.resize(start.saturating_add(own), 0);
        let to = out.get_mut(start..)?;
        let len = match self {
            Self::Lznt1(encoder) => encoder.encode(data, to),
            Self::Lz77(encoder) => encoder.encode(data, to),
            Self::Lz77Huffman(encoder) => encoder.encode(data, to),
            Self::Lz4(encoder) => encoder.encode(data, to),
        };
        let len = len.filter(|len| *len < room)?;
        out.truncate(start.saturating_add(len));
        Some(())
    }
}

/// A chain while it is written.
struct Chain<'a> {
    encoder: Option<&'a mut Encoder>,
    out: &'a mut Vec<u8>,
    /// Where a payload begins that is not compressed and is the last one: what follows may join it.
    plain: Option<usize>,
    /// The chain has to be shorter.
    limit: usize,
}

impl Chain<'_> {
    /// Data that stay as they are.
    fn keep(&mut self, data: &[u8]) -> Option<()> {
        if data.is_empty() {
            return Some(());
        }
        match self.plain {
            Some(start) => {
                self.out.extend_from_slice(data);
                self.set_len(start)?;
            }
            None => {
                self.plain = Some(self.out.len());
                self.payload(CompressionAlgorithm::NONE, None, data)?;
            }
        }
        self.is_worth_it()
    }

    fn run(&mut self, run: &[u8]) -> Option<()> {
        let Some(&pattern) = run.first() else { return Some(()) };
        let data = Pattern { pattern, repetitions: u32::try_from(run.len()).ok()? }.data();
        self.plain = None;
        self.payload(CompressionAlgorithm::PATTERN_V1, None, &data)?;
        self.is_worth_it()
    }

    fn data(&mut self, mut data: &[u8]) -> Option<()> {
        while !data.is_empty() {
            let (may_shrink, part, rest) = split(data);
            if !may_shrink || part.len() <= DATA_MIN || self.compressed(part).is_none() {
                self.keep(part)?;
            }
            data = rest;
        }
        Some(())
    }

    /// `None` if it does not become shorter; nothing is written then.
    fn compressed(&mut self, data: &[u8]) -> Option<()> {
        let start = self.out.len();
        let encoder = self.encoder.as_deref_mut()?;
        let room = data.len().checked_sub(original::LAYOUT.end())?;
        let id = encoder.id();
        self.payload(id, Some(u32::try_from(data.len()).ok()?), &[])?;
        let done = match &mut self.encoder {
            Some(encoder) => encoder.append(data, room, self.out),
            None => None,
        };
        if done.and_then(|()| self.set_len(start)).is_none() {
            self.out.truncate(start);
            return None;
        }
        self.plain = None;
        Some(())
    }

    fn payload(
        &mut self,
        algorithm: CompressionAlgorithm,
        original_size: Option<u32>,
        data: &[u8],
    ) -> Option<()> {
        let is_first = self.out.len() == CHAIN;
        let flag = if is_first { CompressionFlag::CHAINED } else { CompressionFlag::NONE };
        Payload { algorithm, flag, original_size, data }.write(self.out).ok()
    }

    /// The length of the payload at `start`, which is the last.
    fn set_len(&mut self, start: usize) -> Option<()> {
        let own = self.out.get_mut(start..)?;
        let len = own.len().checked_sub(payload::LAYOUT.end())?;
        payload::LENGTH.set(own, u32::try_from(len).ok()?).ok()
    }

    fn is_worth_it(&self) -> Option<()> {
        (self.out.len() < self.limit).then_some(())
    }

    fn end(self) -> Option<()> {
        self.is_worth_it()
    }
}
