use alloc::vec::Vec;

use super::error::{DataError, DecompressError};
use super::huffman;
use super::negotiated::{Algorithm, Negotiated};
use super::{lz4, lz77, lznt1};
use crate::wire::compression::{CHAIN, PATTERN_LEN, UNCHAINED_LEN, original, payload};
use crate::wire::{
    Compressed, CompressedParts, CompressionAlgorithm, CompressionFlag, Pattern, Payload, Payloads, header,
};

/// Decompresses the messages of a connection. It has the memory for that, and allocates none later but for the messages.
#[derive(Debug)]
pub struct Decompressor {
    negotiated: Negotiated,
    huffman: Option<huffman::Decoder>,
}

impl Decompressor {
    /// For a connection with these algorithms.
    #[must_use]
    pub fn new(negotiated: Negotiated) -> Self {
        let has_huffman = negotiated.allows(CompressionAlgorithm::LZ77_HUFFMAN);
        Self { negotiated, huffman: has_huffman.then(huffman::Decoder::default) }
    }

    /// Puts the plain message into `out`, in the place of what is there (3.1.5.3, 3.2.5.1.1.2, 3.3.5.2.1.2).
    ///
    /// All sizes in headers are checked before anything is allocated: `out` never has room for more than `limit` bytes of a message, which
    /// is 256 + 16 + the largest of MaxReadSize, MaxWriteSize and MaxTransactSize. The limit holds for the whole message, with what is
    /// plain before Offset (CO-1). The time is linear in the sizes of both messages.
    ///
    /// # Errors
    /// The connection has to end. `out` is empty then.
    pub fn decompress(
        &mut self,
        message: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), DecompressError> {
        let result = self.message(message, limit, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    fn message(&mut self, message: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), DecompressError> {
        let Compressed { original_size, parts } = Compressed::parse(message)?;
        match parts {
            CompressedParts::Unchained { algorithm, flag, plain, compressed } => {
                if flag != CompressionFlag::NONE {
                    return Err(DecompressError::Flags { at: CHAIN, flag });
                }
                let known = self.allowed(algorithm, CHAIN)?;
                // CO-1
                let size = (plain.len() as u64).saturating_add(original_size.into());
                let size = allowed_size(size, limit)?;
                out.resize(size, 0);
                if let Some((before, behind)) = out.split_at_mut_checked(plain.len()) {
                    before.copy_from_slice(plain);
                    let at = UNCHAINED_LEN.saturating_add(plain.len());
                    self.data(known, compressed, behind, at)?;
                }
            }
            CompressedParts::Chained(payloads) => {
                if !self.negotiated.supports_chained_compression() {
                    return Err(DecompressError::Chained);
                }
                let size = allowed_size(original_size.into(), limit)?;
                self.check(&payloads, original_size)?;
                out.resize(size, 0);
                self.chain(&payloads, out)?;
            }
        }
        match out.first_chunk() {
            Some(&header::PROTOCOL_ID) => Ok(()),
            first => Err(DecompressError::Protocol(first.copied().unwrap_or_default())),
        }
    }

    /// An algorithm that compresses any data and is negotiated.
    fn allowed(&self, id: CompressionAlgorithm, at: usize) -> Result<Algorithm, DecompressError> {
        let known = Algorithm::of(id).filter(|_| self.negotiated.allows(id));
        known.ok_or(DecompressError::Algorithm { at, algorithm: id })
    }

    /// All that the headers of a chain say, before anything is allocated for it (3.1.5.3).
    fn check(&self, payloads: &Payloads<'_>, original_size: u32) -> Result<(), DecompressError> {
        let (mut at, mut missing) = (CHAIN, original_size);
        for payload in payloads.iter() {
            let payload = payload?;
            let Payload { algorithm, flag, data, .. } = payload;
            // CO-4
            let expected = if at == CHAIN { CompressionFlag::CHAINED } else { CompressionFlag::NONE };
            if flag != expected {
                return Err(DecompressError::Flags { at, flag });
            }
            let length = DecompressError::Length { at, algorithm, length: data.len() };
            let size = match algorithm {
                CompressionAlgorithm::NONE => u32::try_from(data.len()).map_err(|_| length)?,
                CompressionAlgorithm::PATTERN_V1 if self.negotiated.allows(algorithm) => {
                    if data.len() != PATTERN_LEN {
                        return Err(length);
                    }
                    Pattern::parse(data)?.repetitions
                }
                _ => {
                    self.allowed(algorithm, at)?;
                    payload.original_size.filter(|_| !data.is_empty()).ok_or(length)?
                }
            };
            // CO-2: what is missing, not the whole
            missing = missing.checked_sub(size).ok_or(DecompressError::Room { at, size, room: missing })?;
            at = at.saturating_add(len(&payload));
        }
        // CO-5
        if missing > 0 { Err(DecompressError::Missing { missing }) } else { Ok(()) }
    }

    /// A chain whose headers are checked.
    fn chain(&mut self, payloads: &Payloads<'_>, mut out: &mut [u8]) -> Result<(), DecompressError> {
        let mut at = CHAIN;
        for payload in payloads.iter() {
            let payload = payload?;
            let Payload { algorithm, original_size, data, .. } = payload;
            let pattern =
                (algorithm == CompressionAlgorithm::PATTERN_V1).then(|| Pattern::parse(data)).transpose()?;
            let repetitions = pattern.map(|pattern| pattern.repetitions);
            let size = original_size.or(repetitions).map_or(data.len(), |size| size as usize);
            let (own, rest) = out.split_at_mut_checked(size).unwrap_or_default();
            if let Some(pattern) = pattern {
                own.fill(pattern.pattern);
            } else if let Some(known) = Algorithm::of(algorithm) {
                self.data(known, data, own, at.saturating_add(original::LAYOUT.end()))?;
            } else if own.len() == data.len() {
                own.copy_from_slice(data);
            }
            out = rest;
            at = at.saturating_add(len(&payload));
        }
        Ok(())
    }

    fn data(
        &mut self,
        algorithm: Algorithm,
        data: &[u8],
        out: &mut [u8],
        at: usize,
    ) -> Result<(), DecompressError> {
        let result: Result<(), DataError> = match (algorithm, &mut self.huffman) {
            (Algorithm::Lz77, _) => lz77::decode(data, out),
            (Algorithm::Lznt1, _) => lznt1::decode(data, out),
            (Algorithm::Lz4, _) => lz4::decode(data, out),
            (Algorithm::Lz77Huffman, Some(huffman)) => huffman.decode(data, out),
            (Algorithm::Lz77Huffman, None) => {
                return Err(DecompressError::Algorithm { at, algorithm: algorithm.id() });
            }
        };
        result.map_err(|error| DecompressError::Data { at, algorithm: algorithm.id(), error })
    }
}

fn allowed_size(size: u64, limit: usize) -> Result<usize, DecompressError> {
    let allowed = usize::try_from(size).ok().filter(|size| *size <= limit);
    allowed.ok_or(DecompressError::TooLarge { size, limit })
}

/// Size of a payload with its header.
fn len(of: &Payload<'_>) -> usize {
    let header = if of.original_size.is_some() { &original::LAYOUT } else { &payload::LAYOUT };
    header.end().saturating_add(of.data.len())
}
