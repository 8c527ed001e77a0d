//! Names as they are on the wire.

use alloc::vec::Vec;

use crate::wire::Text;

/// UTF-16, little-endian, without a terminator.
pub(super) fn utf16(text: Text<'_>) -> Vec<u8> {
    text.units().flat_map(u16::to_le_bytes).collect()
}
