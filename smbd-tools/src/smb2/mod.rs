//! The first exchange of SMB2 (MS-SMB2): NEGOTIATE. `smbd-ping` uses it to show that an SMB2 server answers over SMB
//! Direct.
//!
//! No more than that: a request with all dialects from 2.0.2 to 3.1.1 and the contexts that 3.1.1 requires, and a
//! checked response. The server's side exists for tests against real clients.

mod context;
mod header;
mod request;
mod response;
mod spnego;

use std::fmt;

use thiserror::Error;

pub use context::Cipher;
pub use request::NegotiateRequest;
pub use response::{ErrorResponse, NegotiateResponse, Response};
pub use spnego::ntlmssp_offer;

/// A 16-byte GUID as it is on the wire: the first three groups little-endian (MS-DTYP 2.3.4).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Guid(pub [u8; 16]);

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
        fmt::Display::fmt(self, f)
    }
}

/// A dialect revision (2.2.3 Dialects).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dialect(pub u16);

impl Dialect {
    /// 2.0.2, the first.
    pub const SMB_2_0_2: Self = Self(0x0202);
    /// 2.1.
    pub const SMB_2_1: Self = Self(0x0210);
    /// 3.0, the first with SMB Direct.
    pub const SMB_3_0: Self = Self(0x0300);
    /// 3.0.2.
    pub const SMB_3_0_2: Self = Self(0x0302);
    /// 3.1.1, the latest.
    pub const SMB_3_1_1: Self = Self(0x0311);
    /// All dialects, ascending.
    pub const ALL: [Self; 5] =
        [Self::SMB_2_0_2, Self::SMB_2_1, Self::SMB_3_0, Self::SMB_3_0_2, Self::SMB_3_1_1];
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SMB_2_0_2 => f.write_str("2.0.2"),
            Self::SMB_2_1 => f.write_str("2.1"),
            Self::SMB_3_0 => f.write_str("3.0"),
            Self::SMB_3_0_2 => f.write_str("3.0.2"),
            Self::SMB_3_1_1 => f.write_str("3.1.1"),
            Self(other) => write!(f, "0x{other:04x}"),
        }
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dialect({self})")
    }
}

/// Capabilities of client or server (2.2.3, 2.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u32);

impl Capabilities {
    /// More than 64 KiB in one operation.
    pub const LARGE_MTU: Self = Self(0x04);
    const NAMES: [(u32, &str); 8] = [
        (0x01, "DFS"),
        (0x02, "LEASING"),
        (0x04, "LARGE_MTU"),
        (0x08, "MULTI_CHANNEL"),
        (0x10, "PERSISTENT_HANDLES"),
        (0x20, "DIRECTORY_LEASING"),
        (0x40, "ENCRYPTION"),
        (0x80, "NOTIFICATIONS"),
    ];

    /// The names of the set bits, without unknown ones.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(bit, _)| self.0 & bit != 0).map(|(_, name)| name)
    }
}

/// A received message is not valid. Names the field and the value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Nonsense {
    /// Shorter than its fields.
    #[error("{what}: {got} bytes, at least {needed} needed")]
    Short {
        /// The part of the message that is too short.
        what: &'static str,
        /// Bytes received.
        got: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// A field with an invalid value.
    #[error("{field} is 0x{got:x}, expected {expected}")]
    Field {
        /// Its name in MS-SMB2.
        field: &'static str,
        /// Its value.
        got: u64,
        /// The valid values.
        expected: &'static str,
    },
    /// An offset and a length that are not inside the message.
    #[error("{field} points to bytes {start} to {start} + {len} of a message of {size} bytes")]
    Outside {
        /// The field with the offset.
        field: &'static str,
        /// The offset in bytes.
        start: u64,
        /// The length in bytes.
        len: u64,
        /// Length of the message in bytes.
        size: usize,
    },
    /// The peer returned the request itself.
    #[error("the peer returned the request as it came: it echoes, and is no SMB2 server")]
    Echo,
}

/// Reads a range of `bytes`.
fn range<'a>(bytes: &'a [u8], field: &'static str, start: u64, len: u64) -> Result<&'a [u8], Nonsense> {
    let outside = || Nonsense::Outside { field, start, len, size: bytes.len() };
    let end = usize::try_from(start.checked_add(len).ok_or_else(outside)?).map_err(|_| outside())?;
    bytes.get(usize::try_from(start).map_err(|_| outside())?..end).ok_or_else(outside)
}

#[cfg(test)]
mod tests;
