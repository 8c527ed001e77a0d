//! What offsets and lengths of a received structure point to. All arithmetic is in 64 bits.

use super::error::WireError;
use super::field::{Field, Number, Value};
use super::layout::Layout;

/// `bytes[offset..offset + length]`, if that is inside; `what` says so otherwise.
fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let end = usize::try_from(offset.checked_add(length)?).ok()?;
    bytes.get(usize::try_from(offset).ok()?..end)
}

/// What two fields describe: nothing if the length is 0, else bytes behind the fixed part.
pub(crate) fn part<'a, O: Number, L: Number>(
    bytes: &'a [u8],
    (offset, length): (&'static Field<O>, &'static Field<L>),
    layout: &Layout,
) -> Result<&'a [u8], WireError> {
    let (start, len): (u64, u64) = (offset.get(bytes)?.into(), length.get(bytes)?.into());
    let first = layout.end() as u64;
    if len == 0 {
        return Ok(&[]);
    }
    if start < first {
        return Err(WireError::Inside { field: offset.place(), value: start, first });
    }
    range(bytes, length, start, len)
}

/// `length` bytes at `offset`; `field` says how many they are.
pub(super) fn range<'a, T: Value>(
    bytes: &'a [u8],
    field: &'static Field<T>,
    offset: u64,
    length: u64,
) -> Result<&'a [u8], WireError> {
    let beyond = WireError::Beyond { field: field.place(), offset, length, got: bytes.len() as u64 };
    slice(bytes, offset, length).ok_or(beyond)
}

/// What begins where a field says, which has to be a multiple of 8 behind `first`, up to the end.
pub(super) fn tail<'a, T: Number>(
    bytes: &'a [u8],
    field: &'static Field<T>,
    first: u64,
) -> Result<&'a [u8], WireError> {
    let value: u64 = field.get(bytes)?.into();
    if value < first {
        return Err(WireError::Inside { field: field.place(), value, first });
    }
    if !value.is_multiple_of(8) {
        return Err(WireError::Misaligned { field: field.place(), value });
    }
    range(bytes, field, value, (bytes.len() as u64).saturating_sub(value))
}

/// Refuses another ProtocolId than `expected`.
pub(super) fn protocol(
    bytes: &[u8],
    field: &'static Field<[u8; 4]>,
    expected: [u8; 4],
) -> Result<(), WireError> {
    let (value, expected) = (u32::from_le_bytes(field.get(bytes)?), u32::from_le_bytes(expected));
    if value == expected {
        return Ok(());
    }
    Err(WireError::Value { field: field.place(), value: value.into(), expected: expected.into() })
}
