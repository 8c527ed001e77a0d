//! Compression of messages (MS-SMB2 3.1.4.4, 3.1.5.3) and its algorithms (MS-XCA).
//!
//! [`Compressor`] and [`Decompressor`] belong to a connection: they know what is [`Negotiated`], have the memory of its algorithms, and
//! turn whole messages into others. The modules of the algorithms turn data into others.
//!
//! A decoder fills the slice that it is given, or says what is wrong and where. An encoder writes to the slice that it is given, or says
//! that this is too short. None of them allocates, and all take time linear in the sizes of both slices.
//!
//! Compressed messages are never sent nor received over SMB Direct (3.3.5.12).
//!
//! ```
//! use smbd_smb2::compress::{Compressor, Decompressor, Negotiated};
//! use smbd_smb2::wire::{CompressionAlgorithm, EchoRequest, Header, write_element};
//!
//! let ids = [CompressionAlgorithm::LZ77, CompressionAlgorithm::PATTERN_V1];
//! let negotiated = Negotiated::new(&ids, true);
//! let mut message = Vec::new();
//! write_element(&mut message, &Header::request::<EchoRequest>(1), &EchoRequest {})?;
//! message.resize(70_000, 0);
//!
//! let mut sent = Vec::new();
//! assert!(Compressor::new(negotiated).compress(&message, 64, &mut sent));
//! assert!(sent.len() < 128);
//!
//! let mut received = Vec::new();
//! Decompressor::new(negotiated).decompress(&sent, 256 + 16 + 65536 * 2, &mut received)?;
//! assert_eq!(received, message);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compressor;
mod copy;
mod decompressor;
mod density;
mod error;
pub mod huffman;
pub mod lz4;
pub mod lz77;
pub mod lznt1;
mod negotiated;
pub mod pattern;

pub use compressor::Compressor;
pub use decompressor::Decompressor;
pub use error::{DataError, DecompressError, Fault};
pub use negotiated::Negotiated;

/// The largest message that a connection may decompress, in bytes (3.2.5.1.1.2, 3.3.5.2.1.2): 256 and the size of the header above the
/// largest of MaxReadSize, MaxWriteSize and MaxTransactSize.
#[must_use]
pub fn size_limit(max_size: u32) -> usize {
    usize::try_from(max_size)
        .unwrap_or(usize::MAX)
        .saturating_add(256 + crate::wire::compression::UNCHAINED_LEN)
}
