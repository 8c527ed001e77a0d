//! Capture files: pcap and pcapng, both byte orders, any time resolution, read record by record.

mod pcap;
mod pcapng;
mod source;

use std::io::Read;

use source::Source;

/// Largest block or record taken; larger length fields are taken for damage.
pub const RECORD_MAX: u32 = 16 * 1024 * 1024;

/// What keeps a file from being read on.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is nothing in it.
    #[error("the file is empty")]
    Empty,
    /// A capture file may be inside.
    #[error(
        "the file is compressed ({format}); read what is in it from a pipe: `{program} FILE | COMMAND -`"
    )]
    Compressed {
        /// The format of the compressed file.
        format: &'static str,
        /// What writes its contents to standard output.
        program: &'static str,
    },
    /// The first bytes are of no known format.
    #[error("not a capture file: the first bytes are {magic:02x?}, neither pcap nor pcapng")]
    Foreign {
        /// The first bytes, at most four.
        magic: Vec<u8>,
    },
    /// The file ends inside a record, or a block inside a field.
    #[error("record {record} at offset {offset} is cut: {what} needs {needed} bytes, {got} are there")]
    Truncated {
        /// Number of the record or block, from 1; 0 is the file header.
        record: u64,
        /// File offset of what is short.
        offset: u64,
        /// Which part of the record.
        what: &'static str,
        /// Bytes it needs.
        needed: u64,
        /// Bytes left in the file or block.
        got: u64,
    },
    /// A field has a value that no writer gives it.
    #[error("record {record} at offset {offset} is broken: {field} is {got}, {expected}")]
    Broken {
        /// Number of the record or block, from 1; 0 is the file header.
        record: u64,
        /// File offset of the record.
        offset: u64,
        /// The field.
        field: &'static str,
        /// Its value.
        got: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// Reading failed below the file format.
    #[error("reading failed at offset {offset}: {error}")]
    Io {
        /// Bytes read before.
        offset: u64,
        /// The cause.
        error: std::io::Error,
    },
}

/// How the first header of a frame is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet (1).
    Ethernet,
    /// IPv4 or IPv6 without a link header (101, 12, 14, 228, 229).
    RawIp,
    /// Linux cooked capture (113).
    LinuxSll,
    /// Linux cooked capture version 2 (276).
    LinuxSll2,
    /// Anything else.
    Other(u32),
}

impl LinkType {
    fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            113 => Self::LinuxSll,
            276 => Self::LinuxSll2,
            other => Self::Other(other),
        }
    }
}

/// One frame of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Number in the file from 1, as Wireshark counts.
    pub number: u64,
    /// Time since 1970 in nanoseconds.
    pub time_ns: u64,
    /// How to read it.
    pub link: LinkType,
    /// Bytes on the wire; more than `data` holds when the capture cut the frame.
    pub original_len: u32,
    /// The bytes captured.
    pub data: Vec<u8>,
}

/// Formats in which captures are compressed: first bytes, name, what writes the contents to standard output.
const COMPRESSED: [(&[u8], &str, &str); 6] = [
    (&[0x1f, 0x8b], "gzip", "zcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (&[0xfd, b'7', b'z', b'X'], "xz", "xzcat"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4cat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// What a file is that begins with these bytes, at most four, which no capture file does.
fn foreign(magic: Vec<u8>) -> FileError {
    if magic.is_empty() {
        return FileError::Empty;
    }
    match COMPRESSED.iter().find(|(first, ..)| magic.starts_with(first)) {
        Some((_, format, program)) => FileError::Compressed { format, program },
        None => FileError::Foreign { magic },
    }
}

/// A capture file being read.
#[derive(Debug)]
pub struct FrameReader<R> {
    source: Source<R>,
    format: Format,
    number: u64,
}

#[derive(Debug)]
enum Format {
    Pcap(pcap::Header),
    PcapNg(pcapng::Section),
}

/// Time in nanoseconds of `ticks` units of `1 / per_second` s.
fn nanoseconds(ticks: u64, per_second: u64) -> u64 {
    let time = u128::from(ticks) * 1_000_000_000 / u128::from(per_second.max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}

impl<R: Read> FrameReader<R> {
    /// Reads the file header.
    ///
    /// # Errors
    /// [`FileError`] when it is foreign, cut or cannot be read.
    pub fn new(input: R) -> Result<Self, FileError> {
        let mut source = Source::new(input);
        let magic = source.up_to(4)?;
        let Ok(first) = <[u8; 4]>::try_from(magic.as_slice()) else {
            return Err(foreign(magic));
        };
        let format = if first == pcapng::SECTION_HEADER {
            Format::PcapNg(pcapng::Section::read_first(&mut source)?)
        } else if let Some(kind) = pcap::Kind::from_magic(first) {
            Format::Pcap(pcap::Header::read(&mut source, kind)?)
        } else {
            return Err(foreign(magic));
        };
        Ok(Self { source, format, number: 0 })
    }

    /// The next frame, `None` at the end of the file.
    ///
    /// # Errors
    /// [`FileError`]; nothing can be read after it.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FileError> {
        let next = match &mut self.format {
            Format::Pcap(header) => header.next_frame(&mut self.source)?,
            Format::PcapNg(section) => section.next_frame(&mut self.source)?,
        };
        Ok(next.map(|mut frame| {
            self.number += 1;
            frame.number = self.number;
            frame
        }))
    }
}

#[cfg(test)]
mod tests;
