//! Fields one after the other.

use super::TEXT_MAX;
use super::error::WireError;

/// Reads fields from the front of a message.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    message: &'static str,
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Of the message with this name, for errors.
    #[must_use]
    pub const fn new(message: &'static str, bytes: &'a [u8]) -> Self {
        Self { message, left: bytes }
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// There are not so many.
    pub fn bytes(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], WireError> {
        let Some((bytes, left)) = self.left.split_at_checked(len) else {
            return Err(WireError::Cut { message: self.message, field, needed: len, left: self.left.len() });
        };
        self.left = left;
        Ok(bytes)
    }

    /// An array of bytes.
    ///
    /// # Errors
    /// It is cut.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let Some((bytes, left)) = self.left.split_first_chunk() else {
            return Err(WireError::Cut { message: self.message, field, needed: N, left: self.left.len() });
        };
        self.left = left;
        Ok(*bytes)
    }

    /// A number of 16 bits.
    ///
    /// # Errors
    /// It is cut.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        self.array(field).map(u16::from_le_bytes)
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// It is cut.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_le_bytes)
    }

    /// A number of 64 bits.
    ///
    /// # Errors
    /// It is cut.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// A number of 16 bits that has to be zero.
    ///
    /// # Errors
    /// It is cut, or not zero.
    pub fn reserved(&mut self) -> Result<(), WireError> {
        let value = self.u16("Reserved")?;
        self.check("Reserved", value.into(), value == 0, "it is 0")
    }

    /// A number of 16 bits that is 0 or 1.
    ///
    /// # Errors
    /// It is cut, or another number.
    pub fn flag(&mut self, field: &'static str) -> Result<bool, WireError> {
        let value = self.u16(field)?;
        self.check(field, value.into(), value <= 1, "it is 0 or 1")?;
        Ok(value == 1)
    }

    /// A text with its length before it.
    ///
    /// # Errors
    /// It is cut, too long, or no UTF-8.
    pub fn text(&mut self, field: &'static str) -> Result<&'a str, WireError> {
        let len = self.u16(field)?;
        self.check(field, len.into(), usize::from(len) <= TEXT_MAX, "its length is at most 512 bytes")?;
        let bytes = self.bytes(field, len.into())?;
        std::str::from_utf8(bytes).map_err(|error| {
            let value = error.valid_up_to() as u64;
            WireError::Value {
                message: self.message,
                field,
                value,
                valid: "it is UTF-8 up to this byte only",
            }
        })
    }

    /// Says what is wrong with a field if it is not valid.
    ///
    /// # Errors
    /// It is not valid.
    pub const fn check(
        &self,
        field: &'static str,
        value: u64,
        is_valid: bool,
        valid: &'static str,
    ) -> Result<(), WireError> {
        if is_valid { Ok(()) } else { Err(WireError::Value { message: self.message, field, value, valid }) }
    }

    /// All bytes that are left.
    #[must_use]
    pub const fn rest(self) -> &'a [u8] {
        self.left
    }

    /// There is nothing left.
    ///
    /// # Errors
    /// There is.
    pub const fn end(self) -> Result<(), WireError> {
        match self.left.len() {
            0 => Ok(()),
            len => Err(WireError::Behind { message: self.message, len }),
        }
    }
}

/// Writes fields of a message, to the end of a packet.
#[derive(Debug)]
pub struct Writer<'a>(pub(super) &'a mut Vec<u8>);

impl Writer<'_> {
    /// Bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A number of 16 bits.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// A number of 32 bits.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// A number of 64 bits.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// A text with its length before it, cut at [`TEXT_MAX`].
    pub fn text(&mut self, text: &str) {
        let text = text.get(..text.floor_char_boundary_of(TEXT_MAX)).unwrap_or_default();
        self.u16(u16::try_from(text.len()).unwrap_or(0));
        self.bytes(text.as_bytes());
    }
}

/// `str::floor_char_boundary` of newer compilers.
trait Boundary {
    fn floor_char_boundary_of(&self, at: usize) -> usize;
}

impl Boundary for str {
    fn floor_char_boundary_of(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|at| self.is_char_boundary(*at)).unwrap_or(0)
    }
}
