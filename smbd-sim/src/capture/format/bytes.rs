//! Big-endian fields by range. A range outside the bytes reads as zero: callers check the length of a header once.

use std::ops::Range;

fn be(bytes: &[u8], at: &Range<usize>) -> u64 {
    bytes.get(at.clone()).unwrap_or_default().iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

pub(crate) fn be16(bytes: &[u8], at: &Range<usize>) -> u16 {
    debug_assert_eq!(at.len(), 2);
    (be(bytes, at) & 0xffff) as u16
}

pub(crate) fn be24(bytes: &[u8], at: &Range<usize>) -> u32 {
    debug_assert_eq!(at.len(), 3);
    (be(bytes, at) & 0xff_ffff) as u32
}

pub(crate) fn be32(bytes: &[u8], at: &Range<usize>) -> u32 {
    debug_assert_eq!(at.len(), 4);
    (be(bytes, at) & 0xffff_ffff) as u32
}

pub(crate) fn be64(bytes: &[u8], at: &Range<usize>) -> u64 {
    debug_assert_eq!(at.len(), 8);
    be(bytes, at)
}

/// Writes the low `at.len()` bytes of `value` big-endian; nothing when the range is outside.
pub(crate) fn put(bytes: &mut [u8], at: &Range<usize>, value: u64) {
    let width = at.len().min(8);
    if let (Some(target), Some(source)) = (bytes.get_mut(at.clone()), value.to_be_bytes().get(8 - width..)) {
        target.copy_from_slice(source);
    }
}
