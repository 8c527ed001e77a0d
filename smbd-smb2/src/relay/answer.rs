//! The answer to a READ with a channel: what the server says, and what the client gets.

use super::request::ANSWER_LEN;
use crate::wire::read::response;
use crate::wire::{NtStatus, ReadResponseFlags, WireError};

/// StructureSize of a READ Response (2.2.20).
const STRUCTURE_SIZE: u16 = 17;

/// Where the data of an answer are in its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Bytes between the fixed part and the data.
    pub(super) gap: usize,
    /// Bytes of data.
    pub(super) len: u32,
}

/// Whether an answer with this status can have data. STATUS_BUFFER_OVERFLOW is that of a pipe with a longer message.
fn may_have_data(status: NtStatus) -> bool {
    status == NtStatus::SUCCESS || status == NtStatus::BUFFER_OVERFLOW
}

/// Where the data are, in an element of `len` bytes of which the first [`ANSWER_LEN`] are there. `None` if it has the body of a
/// failure.
#[inline]
pub(super) fn place(element: &[u8], status: NtStatus, len: usize) -> Result<Option<Place>, WireError> {
    if !may_have_data(status) {
        return Ok(None);
    }
    let size = response::STRUCTURE_SIZE.get(element)?;
    if size != STRUCTURE_SIZE && status != NtStatus::SUCCESS {
        return Ok(None);
    }
    let field = response::STRUCTURE_SIZE.place();
    if size != STRUCTURE_SIZE {
        return Err(WireError::Value { field, value: size.into(), expected: STRUCTURE_SIZE.into() });
    }
    let (offset, data) = (response::DATA_OFFSET.get(element)?, response::DATA_LENGTH.get(element)?);
    if data == 0 {
        return Ok(Some(Place { gap: 0, len: 0 }));
    }
    let (field, start) = (response::DATA_OFFSET.place(), usize::from(offset));
    let Some(gap) = start.checked_sub(ANSWER_LEN) else {
        return Err(WireError::Inside { field, value: offset.into(), first: ANSWER_LEN as u64 });
    };
    if start.saturating_add(data as usize) > len {
        let (field, offset, length) = (response::DATA_LENGTH.place(), u64::from(offset), u64::from(data));
        return Err(WireError::Beyond { field, offset, length, got: len as u64 });
    }
    Ok(Some(Place { gap, len: data }))
}

/// The answer after so many bytes went by the channel (3.3.5.12).
#[inline]
pub(super) fn moved(element: &[u8], len: u32, out: &mut [u8; ANSWER_LEN]) -> Result<(), WireError> {
    response::LAYOUT.check(element)?;
    if let Some(front) = element.first_chunk() {
        *out = *front;
    }
    response::DATA_OFFSET.set(out, ANSWER_LEN as u8)?;
    response::RESERVED.set(out, 0)?;
    response::DATA_LENGTH.set(out, 0)?;
    response::DATA_REMAINING.set(out, len)?;
    response::FLAGS.set(out, ReadResponseFlags::NONE)
}
