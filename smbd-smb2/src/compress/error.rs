//! Why compressed data or a compressed message is refused.

use thiserror::Error;

use crate::wire::{CompressionAlgorithm, CompressionFlag, WireError};

/// Compressed data that are not those of their algorithm, or that become another number of bytes than their message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{fault}, at byte {at} of the compressed data, after {written} plain bytes ({section})")]
pub struct DataError {
    /// The fault.
    pub fault: Fault,
    /// Where, in bytes from the beginning of the compressed data. 0 with LZ4, whose decoder does not tell.
    pub at: usize,
    /// Number of plain bytes that the data before it have become. 0 with LZ4.
    pub written: usize,
    /// The section that defines it.
    pub section: &'static str,
}

/// A fault of compressed data. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The data end inside of an item, or before the plain data are complete.
    #[error("the data end too early")]
    Truncated,
    /// Data are left when the plain data are complete.
    #[error("{left} bytes are left behind the last item")]
    Trailing {
        /// Number of bytes.
        left: usize,
    },
    /// A match begins before the plain data do.
    #[error("a match has distance {distance}")]
    Distance {
        /// Its distance.
        distance: usize,
    },
    /// A length is written in a longer form than its value allows.
    #[error("the length of a match is written as {value}")]
    Length {
        /// The value in the data.
        value: u32,
    },
    /// The plain data would be longer than their size.
    #[error("an item of {length} bytes comes where {room} are missing")]
    Room {
        /// Length of the item.
        length: u64,
        /// Number of bytes that are missing.
        room: usize,
    },
    /// The lengths of a Huffman code are not those of a complete code.
    #[error("the code has {filled} of 32768 parts")]
    Code {
        /// Sum of 2^(15 - length) over all symbols.
        filled: u32,
    },
    /// The header of a chunk has another signature than 3.
    #[error("the header of a chunk is {header:#06x}")]
    Signature {
        /// The header.
        header: u16,
    },
    /// A chunk that is not the last becomes another number of bytes than 4096.
    #[error("a chunk of {length} bytes is not the last")]
    Chunk {
        /// Number of bytes.
        length: usize,
    },
}

/// A compressed message that ends the connection (3.2.5.1.1.2, 3.3.5.2.1.2). Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecompressError {
    /// A header cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// An algorithm that is not negotiated, or that cannot be where it is.
    #[error(
        "the payload at {at} is compressed by {algorithm}, which is not negotiated (3.2.5.1.1.2, 3.3.5.2.1.2)"
    )]
    Algorithm {
        /// Where the payload begins, from the beginning of the message.
        at: usize,
        /// Its algorithm.
        algorithm: CompressionAlgorithm,
    },
    /// The message is a chain, and chains are not negotiated (CO-3).
    #[error("the message is a chain, which is not negotiated (3.1.5.3)")]
    Chained,
    /// Flags of a payload are not those of its place (CO-4).
    #[error("the payload at {at} has Flags {flag} (2.2.42.2.1)")]
    Flags {
        /// Where the payload begins.
        at: usize,
        /// Its flags.
        flag: CompressionFlag,
    },
    /// The message would be longer than the connection allows.
    #[error("the message would have {size} bytes, and {limit} are allowed (3.2.5.1.1.2, 3.3.5.2.1.2)")]
    TooLarge {
        /// Size of the message.
        size: u64,
        /// The limit.
        limit: usize,
    },
    /// A payload has another Length than its algorithm allows.
    #[error("the payload at {at}, {algorithm}, has {length} bytes (2.2.42.2.1)")]
    Length {
        /// Where the payload begins.
        at: usize,
        /// Its algorithm.
        algorithm: CompressionAlgorithm,
        /// Number of its bytes behind its header.
        length: usize,
    },
    /// A payload becomes more bytes than are missing: OriginalPayloadSize, Repetitions, or the Length of one that is not compressed.
    #[error("the payload at {at} becomes {size} bytes, and {room} are missing (3.1.5.3)")]
    Room {
        /// Where the payload begins.
        at: usize,
        /// What it becomes.
        size: u32,
        /// Number of bytes that are missing.
        room: u32,
    },
    /// The payloads of a chain become fewer bytes than OriginalCompressedSegmentSize.
    #[error("{missing} bytes are missing behind the last payload (3.2.5.1.1.2, 3.3.5.2.1.2)")]
    Missing {
        /// How many.
        missing: u32,
    },
    /// The data of a payload are wrong.
    #[error("the data at {at}, {algorithm}: {error}")]
    Data {
        /// Where the compressed data begin, from the beginning of the message.
        at: usize,
        /// The algorithm.
        algorithm: CompressionAlgorithm,
        /// Their fault.
        error: DataError,
    },
    /// What was compressed is no message of SMB2: compressed or encrypted again, among others.
    #[error("the decompressed message begins with {0:02x?} (3.2.5.1.1.2, 3.3.5.2.1.2)")]
    Protocol([u8; 4]),
}
