//! Identifiers.

use core::fmt;

use super::field::Value;
use super::names::values;

values! {
    /// A MessageId (2.2.1.2).
    pub struct MessageId(u64) {
        UNSOLICITED = 0xFFFF_FFFF_FFFF_FFFF "unsolicited",
    }

    /// A SessionId (2.2.1.2).
    pub struct SessionId(u64) {
        NONE = 0 "none",
        RELATED = 0xFFFF_FFFF_FFFF_FFFF "related",
    }

    /// A TreeId (2.2.1.2).
    pub struct TreeId(u32) {
        NONE = 0 "none",
        RELATED = 0xFFFF_FFFF "related",
    }
}

/// An identifier of an open file, directory or pipe (2.2.14.1).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// What stays the same when a durable open is reconnected.
    pub persistent: u64,
    /// What is unique within a session.
    pub volatile: u64,
}

impl FileId {
    /// All ones: in a related request, the file of the request before it (3.2.4.1.4); in some IOCTLs, no file.
    pub const RELATED: Self = Self { persistent: u64::MAX, volatile: u64::MAX };
}

impl Value for FileId {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        let (persistent, volatile) = bytes.split_first_chunk()?;
        Some(Self { persistent: u64::from_le_bytes(*persistent), volatile: u64::read(volatile)? })
    }

    fn write(self, bytes: &mut [u8]) -> Option<()> {
        let (persistent, volatile) = bytes.first_chunk_mut::<16>()?.split_at_mut_checked(8)?;
        self.persistent.write(persistent)?;
        self.volatile.write(volatile)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::RELATED {
            return f.write_str("all ones");
        }
        write!(f, "0x{:x}:0x{:x}", self.persistent, self.volatile)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileId({self})")
    }
}

/// A 16-byte GUID as it is on the wire: the first three groups little-endian (MS-DTYP 2.3.4.2).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

impl Value for Guid {
    const SIZE: usize = 16;

    fn read(bytes: &[u8]) -> Option<Self> {
        Value::read(bytes).map(Self)
    }

    fn write(self, bytes: &mut [u8]) -> Option<()> {
        self.0.write(bytes)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a0, a1, a2, a3, b0, b1, c0, c1, d @ .., e0, e1, e2, e3, e4, e5] = self.0;
        let (a, b) = (u32::from_le_bytes([a0, a1, a2, a3]), u16::from_le_bytes([b0, b1]));
        let (c, d) = (u16::from_le_bytes([c0, c1]), u16::from_be_bytes(d));
        let e = u64::from_be_bytes([0, 0, e0, e1, e2, e3, e4, e5]);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({self})")
    }
}
