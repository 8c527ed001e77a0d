//! The header of a compressed message (2.2.42). Nothing is decompressed here.

use alloc::vec::Vec;

use super::error::WireError;
use super::layout::layout;
use super::names::values;
use super::negotiate_context::CompressionAlgorithm;
use super::reader;
use super::records::{Record, Records};
use super::writer::{Part, Writer};

/// ProtocolId of a compressed message.
pub const PROTOCOL_ID: [u8; 4] = *b"\xfcSMB";

values! {
    /// Which of the two headers it is (2.2.42), or which payload of a chain (2.2.42.2.1).
    pub struct CompressionFlag(u16) {
        NONE = 0x0000 "SMB2_COMPRESSION_FLAG_NONE",
        CHAINED = 0x0001 "SMB2_COMPRESSION_FLAG_CHAINED",
    }
}

layout! {
    /// Fields that both headers have: those of the first payload of a chain, in the place of the algorithm and the flags.
    pub mod field: "COMPRESSION_TRANSFORM_HEADER", "2.2.42", from 0;
    PROTOCOL_ID: [u8; 4] = "ProtocolId" at 0;
    ORIGINAL_SIZE: u32 = "OriginalCompressedSegmentSize" at 4;
    COMPRESSION_ALGORITHM: CompressionAlgorithm = "CompressionAlgorithm" at 8;
    FLAGS: CompressionFlag = "Flags" at 10;
}

layout! {
    /// The field that only the header of an unchained message has (2.2.42.1).
    pub mod unchained: "COMPRESSION_TRANSFORM_HEADER_UNCHAINED", "2.2.42.1", from 0;
    OFFSET: u32 = "Offset" at 12;
}

layout! {
    /// Fields before each payload of a chain (2.2.42.2.1), from the beginning of the payload.
    pub mod payload: "COMPRESSION_CHAINED_PAYLOAD_HEADER", "2.2.42.2.1", from 0;
    COMPRESSION_ALGORITHM: CompressionAlgorithm = "CompressionAlgorithm" at 0;
    FLAGS: CompressionFlag = "Flags" at 2;
    LENGTH: u32 = "Length" at 4;
}

layout! {
    /// The field behind it that some algorithms have.
    pub mod original: "COMPRESSION_CHAINED_PAYLOAD_HEADER", "2.2.42.2.1", from 0;
    ORIGINAL_PAYLOAD_SIZE: u32 = "OriginalPayloadSize" at 8;
}

layout! {
    /// Fields of the data of a payload that is a repeated byte (2.2.42.2.2).
    pub mod pattern: "COMPRESSION_PATTERN_PAYLOAD_V1", "2.2.42.2.2", from 0;
    PATTERN: u8 = "Pattern" at 0;
    RESERVED1: u8 = "Reserved1" at 1;
    RESERVED2: u16 = "Reserved2" at 2;
    REPETITIONS: u32 = "Repetitions" at 4;
}

/// Size of the data of a payload that is a repeated byte, in bytes.
pub const PATTERN_LEN: usize = 8;

/// Where the payloads of a chain begin, in bytes.
pub const CHAIN: usize = 8;
/// Size of the header of an unchained message in bytes.
pub const UNCHAINED_LEN: usize = 16;

/// A compressed message (2.2.42).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compressed<'a> {
    /// OriginalCompressedSegmentSize: what the compressed part, or all of a chain, becomes, in bytes. The peer says so: it is not a
    /// size to allocate.
    pub original_size: u32,
    /// How it is compressed.
    pub parts: CompressedParts<'a>,
}

/// What follows the header of a compressed message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompressedParts<'a> {
    /// One compressed part at the end (2.2.42.1).
    Unchained {
        /// Its algorithm.
        algorithm: CompressionAlgorithm,
        /// Flags. CHAINED, which is that of the other header, is written as NONE.
        flag: CompressionFlag,
        /// The bytes in front of it, as they were.
        plain: &'a [u8],
        /// The compressed part.
        compressed: &'a [u8],
    },
    /// Any number of payloads (2.2.42.2).
    Chained(Payloads<'a>),
}

/// The payloads of a chain.
pub type Payloads<'a> = Records<'a, Payload<'a>>;

/// A payload of a chain (2.2.42.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// How it is compressed, or that it is not.
    pub algorithm: CompressionAlgorithm,
    /// CHAINED in the first.
    pub flag: CompressionFlag,
    /// What it becomes, in bytes; with LZNT1, LZ77, LZ77+Huffman and LZ4. The peer says so: it is not a size to allocate.
    pub original_size: Option<u32>,
    /// Its bytes.
    pub data: &'a [u8],
}

/// Data of a payload whose algorithm is Pattern_V1 (2.2.42.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The repeated byte.
    pub pattern: u8,
    /// How often. The peer says so: it is not a size to allocate.
    pub repetitions: u32,
}

impl Pattern {
    /// Reads the data of a payload.
    ///
    /// # Errors
    /// They have fewer than [`PATTERN_LEN`] bytes.
    pub fn parse(data: &[u8]) -> Result<Self, WireError> {
        pattern::LAYOUT.check(data)?;
        Ok(Self { pattern: pattern::PATTERN.get(data)?, repetitions: pattern::REPETITIONS.get(data)? })
    }

    /// The data of a payload.
    #[must_use]
    pub fn data(&self) -> [u8; PATTERN_LEN] {
        let mut data = [0; PATTERN_LEN];
        // There is room for both.
        let _ = pattern::PATTERN.set(&mut data, self.pattern);
        let _ = pattern::REPETITIONS.set(&mut data, self.repetitions);
        data
    }
}

impl<'a> Compressed<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// The header is not complete, has another ProtocolId, or says that the compressed part begins behind the message.
    pub fn parse(message: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(message)?;
        reader::protocol(message, &field::PROTOCOL_ID, PROTOCOL_ID)?;
        let original_size = field::ORIGINAL_SIZE.get(message)?;
        let flag = field::FLAGS.get(message)?;
        if flag == CompressionFlag::CHAINED {
            let payloads = message.get(CHAIN..).unwrap_or_default();
            let parts = CompressedParts::Chained(Records::linked(payloads));
            return Ok(Self { original_size, parts });
        }
        let len = unchained::OFFSET.get(message)?;
        let plain = reader::range(message, &unchained::OFFSET, UNCHAINED_LEN as u64, len.into())?;
        let compressed = message.get(UNCHAINED_LEN.saturating_add(plain.len())..).unwrap_or_default();
        let algorithm = field::COMPRESSION_ALGORITHM.get(message)?;
        Ok(Self { original_size, parts: CompressedParts::Unchained { algorithm, flag, plain, compressed } })
    }

    /// Appends the message.
    ///
    /// # Errors
    /// [`WireError::TooLarge`] if a part is longer than its field can say. Nothing is appended then.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut message = Writer::new(out);
        let written = self.put(&mut message);
        if written.is_err() {
            message.undo();
        }
        written
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match &self.parts {
            CompressedParts::Unchained { algorithm, flag, plain, compressed } => {
                out.fill(UNCHAINED_LEN);
                out.set(&field::COMPRESSION_ALGORITHM, *algorithm)?;
                if *flag != CompressionFlag::CHAINED {
                    out.set(&field::FLAGS, *flag)?;
                }
                out.set_size(&unchained::OFFSET, plain.len())?;
                out.append(plain);
                out.append(compressed);
            }
            CompressedParts::Chained(payloads) => {
                out.fill(CHAIN);
                for payload in payloads.iter() {
                    payload?.put(out, false)?;
                }
            }
        }
        out.set(&field::PROTOCOL_ID, PROTOCOL_ID)?;
        out.set(&field::ORIGINAL_SIZE, self.original_size)
    }
}

impl Payload<'_> {
    /// Appends the payload.
    ///
    /// # Errors
    /// [`WireError::TooLarge`] if its data are longer than their field can say.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        Record::put(self, &mut Writer::new(out), false)
    }
}

/// Whether a payload says what it becomes.
fn has_original_size(algorithm: CompressionAlgorithm) -> bool {
    use CompressionAlgorithm as Algorithm;
    [Algorithm::LZNT1, Algorithm::LZ77, Algorithm::LZ77_HUFFMAN, Algorithm::LZ4].contains(&algorithm)
}

impl<'a> Record<'a> for Payload<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        payload::LAYOUT.check(bytes)?;
        let (start, len) = (payload::LAYOUT.end() as u64, payload::LENGTH.get(bytes)?);
        let algorithm = payload::COMPRESSION_ALGORITHM.get(bytes)?;
        let mut data = reader::range(bytes, &payload::LENGTH, start, len.into())?;
        let mut original_size = None;
        if has_original_size(algorithm) {
            let own = reader::range(bytes, &payload::LENGTH, 0, start.saturating_add(len.into()))?;
            original_size = Some(original::ORIGINAL_PAYLOAD_SIZE.get(own)?);
            data = own.get(original::LAYOUT.end()..).unwrap_or_default();
        }
        let end = usize::try_from(start.saturating_add(len.into())).ok();
        let rest = end.and_then(|end| bytes.get(end..));
        Ok((Self { algorithm, flag: payload::FLAGS.get(bytes)?, original_size, data }, rest))
    }

    fn put(&self, out: &mut Writer<'_>, _is_last: bool) -> Result<(), WireError> {
        let mut own = out.nested();
        own.begin(&payload::LAYOUT);
        own.set(&payload::COMPRESSION_ALGORITHM, self.algorithm)?;
        own.set(&payload::FLAGS, self.flag)?;
        let start = own.len();
        if has_original_size(self.algorithm) {
            own.append_value(self.original_size.unwrap_or_default());
        }
        self.data.put(&mut own)?;
        own.set_size(&payload::LENGTH, own.len().saturating_sub(start))
    }
}
