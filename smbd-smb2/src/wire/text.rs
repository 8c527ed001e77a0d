//! Names and paths: UTF-16, little-endian, without a terminator.

use core::fmt::{self, Write};

use super::error::WireError;
use super::writer::{Part, Writer};

/// A text of a message: as it came, or to be sent. Equal if the bytes on the wire are.
///
/// ```
/// use smbd_smb2::wire::Text;
///
/// let came = Text::from_wire(b"h\0i\0");
/// assert_eq!(came, Text::from("hi"));
/// assert_eq!(came.to_string(), "hi");
/// ```
#[derive(Clone, Copy)]
pub struct Text<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Wire(&'a [u8]),
    Own(&'a str),
}

impl<'a> Text<'a> {
    /// A text as it is on the wire. Neither an odd number of bytes nor a half of a surrogate pair is refused.
    #[must_use]
    pub const fn from_wire(bytes: &'a [u8]) -> Self {
        Self(Source::Wire(bytes))
    }

    /// The bytes, if it is one that came.
    #[must_use]
    pub const fn wire(&self) -> Option<&'a [u8]> {
        match self.0 {
            Source::Wire(bytes) => Some(bytes),
            Source::Own(_) => None,
        }
    }

    /// Its code units; an odd byte at the end is left out.
    pub fn units(&self) -> impl Iterator<Item = u16> + Clone + 'a {
        let (wire, own) = match self.0 {
            Source::Wire(bytes) => (bytes, ""),
            Source::Own(text) => (&[][..], text),
        };
        let (units, _) = wire.as_chunks();
        units.iter().map(|unit| u16::from_le_bytes(*unit)).chain(own.encode_utf16())
    }

    /// Its characters; U+FFFD in the place of half a surrogate pair.
    pub fn chars(&self) -> impl Iterator<Item = char> + Clone + 'a {
        char::decode_utf16(self.units()).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Whether there is no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self.0 {
            Source::Wire(bytes) => bytes.is_empty(),
            Source::Own(text) => text.is_empty(),
        }
    }

    fn odd(&self) -> Option<u8> {
        let (_, odd) = self.wire()?.as_chunks::<2>();
        odd.first().copied()
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self(Source::Wire(&[]))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Source::Own(text))
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.units().eq(other.units()) && self.odd() == other.odd()
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.chars().flat_map(char::escape_debug).try_for_each(|c| f.write_char(c))?;
        f.write_char('"')
    }
}

impl<'a> From<&'a [u8]> for Text<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::from_wire(bytes)
    }
}

impl Part for Text<'_> {
    fn is_empty(&self) -> bool {
        Text::is_empty(self)
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        self.units().for_each(|unit| out.append_value(unit));
        self.odd().into_iter().for_each(|byte| out.append(&[byte]));
        Ok(())
    }
}
