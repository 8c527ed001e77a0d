//! Input with its offset and the number of the record being read, so that every error can name both.

use std::io::Read;

use super::FileError;

#[derive(Debug)]
pub(super) struct Source<R> {
    input: R,
    pub(super) offset: u64,
    pub(super) record: u64,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, offset: 0, record: 0 }
    }

    /// At most `len` bytes, fewer only at the end of the input.
    pub(super) fn up_to(&mut self, len: u32) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        // `take` grows the buffer with what arrives, so a false length field allocates nothing.
        let outcome = self.input.by_ref().take(len.into()).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        match outcome {
            Ok(_) => Ok(bytes),
            Err(error) => Err(FileError::Io { offset: self.offset, error }),
        }
    }

    /// Exactly `len` bytes.
    pub(super) fn exactly(&mut self, what: &'static str, len: u32) -> Result<Vec<u8>, FileError> {
        let offset = self.offset;
        let bytes = self.up_to(len)?;
        if bytes.len() as u64 == u64::from(len) {
            return Ok(bytes);
        }
        let (needed, got) = (u64::from(len), bytes.len() as u64);
        Err(FileError::Truncated { record: self.record, offset, what, needed, got })
    }

    /// Exactly `len` bytes, or nothing when the input ends here.
    pub(super) fn exactly_or_end(
        &mut self,
        what: &'static str,
        len: u32,
    ) -> Result<Option<Vec<u8>>, FileError> {
        let offset = self.offset;
        let bytes = self.up_to(len)?;
        match bytes.len() as u64 {
            0 => Ok(None),
            got if got == u64::from(len) => Ok(Some(bytes)),
            got => Err(FileError::Truncated { record: self.record, offset, what, needed: len.into(), got }),
        }
    }
}

impl<R> Source<R> {
    /// The error of a field of the record at `offset` that has a value which no writer gives it.
    pub(super) fn broken(
        &self,
        offset: u64,
        field: &'static str,
        got: impl Into<u64>,
        expected: &'static str,
    ) -> FileError {
        FileError::Broken { record: self.record, offset, field, got: got.into(), expected }
    }
}

/// Byte order of a file or section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// Two bytes at `at`; callers have checked the length, bytes outside read as zero.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        }
    }

    /// Four bytes at `at`; callers have checked the length, bytes outside read as zero.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }
}
