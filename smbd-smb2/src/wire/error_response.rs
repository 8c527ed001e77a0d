//! The body of a failure (2.2.2), in the answer to any command.

use super::body::Body;
use super::error::WireError;
use super::header;
use super::layout::layout;
use super::names::values;
use super::reader;
use super::records::{Record, Records};
use super::writer::{Part, Writer};

values! {
    /// What an error context is about (2.2.2.1).
    pub struct ErrorId(u32) {
        DEFAULT = 0x0000_0000 "SMB2_ERROR_ID_DEFAULT",
        SHARE_REDIRECT = 0x7264_5253 "SMB2_ERROR_ID_SHARE_REDIRECT",
    }
}

layout! {
    /// Fields of an ERROR Response (2.2.2), from the beginning of the SMB2 header.
    pub mod field: "ERROR Response", "2.2.2", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    ERROR_CONTEXT_COUNT: u8 = "ErrorContextCount" at 2;
    RESERVED: u8 = "Reserved" at 3;
    BYTE_COUNT: u32 = "ByteCount" at 4;
}

layout! {
    /// Fields of an error context (2.2.2.1), from its beginning.
    pub mod context: "ERROR Context", "2.2.2.1", from 0;
    ERROR_DATA_LENGTH: u32 = "ErrorDataLength" at 0;
    ERROR_ID: ErrorId = "ErrorId" at 4;
}

/// An ERROR Response (2.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorResponse<'a> {
    /// ErrorData as 2.2.2.2 has it for the status; often nothing.
    Data(&'a [u8]),
    /// Contexts, in 3.1.1.
    Contexts(Records<'a, ErrorContext<'a>>),
}

/// An error context (2.2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorContext<'a> {
    /// What it is about.
    pub error_id: ErrorId,
    /// Its data (2.2.2.2).
    pub data: &'a [u8],
}

impl<'a> ErrorResponse<'a> {
    /// StructureSize of the body.
    pub const STRUCTURE_SIZE: u16 = 9;

    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The fixed part or ErrorData is not complete, or StructureSize is another.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(element)?;
        field::STRUCTURE_SIZE.expect(element, Self::STRUCTURE_SIZE)?;
        let (start, len) = (field::LAYOUT.end() as u64, field::BYTE_COUNT.get(element)?);
        let data = reader::range(element, &field::BYTE_COUNT, start, len.into())?;
        Ok(match field::ERROR_CONTEXT_COUNT.get(element)? {
            0 => Self::Data(data),
            count => Self::Contexts(Records::counted(data, count.into())),
        })
    }
}

impl Default for ErrorResponse<'_> {
    fn default() -> Self {
        Self::Data(&[])
    }
}

impl Body for ErrorResponse<'_> {
    /// There is always a byte of ErrorData, counted or not: servers write it, and some clients want it.
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.begin(&field::LAYOUT);
        out.set(&field::STRUCTURE_SIZE, Self::STRUCTURE_SIZE)?;
        let start = out.len();
        match self {
            Self::Data(data) => data.put(out)?,
            Self::Contexts(contexts) => {
                out.set_size(&field::ERROR_CONTEXT_COUNT, contexts.count())?;
                contexts.put(out)?;
            }
        }
        out.set_size(&field::BYTE_COUNT, out.len().saturating_sub(start))?;
        out.fill(start.saturating_add(1));
        Ok(())
    }
}

impl<'a> Record<'a> for ErrorContext<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        context::LAYOUT.check(bytes)?;
        let (start, len) = (context::LAYOUT.end(), context::ERROR_DATA_LENGTH.get(bytes)?);
        let data = reader::range(bytes, &context::ERROR_DATA_LENGTH, start as u64, len.into())?;
        // The body begins at a multiple of 8, and so do its contexts.
        let next = start.saturating_add(data.len()).checked_next_multiple_of(8);
        let rest = next.and_then(|next| bytes.get(next..)).unwrap_or_default();
        Ok((Self { error_id: context::ERROR_ID.get(bytes)?, data }, Some(rest)))
    }

    fn put(&self, out: &mut Writer<'_>, _is_last: bool) -> Result<(), WireError> {
        let mut context = out.nested();
        context.begin(&context::LAYOUT);
        context.set_size(&context::ERROR_DATA_LENGTH, self.data.len())?;
        context.set(&context::ERROR_ID, self.error_id)?;
        context.append(self.data);
        Ok(())
    }
}
