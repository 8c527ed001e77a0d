//! Values of specifications, as they are printed. For tests, those of `tests/security` too.

extern crate alloc;

use alloc::vec::Vec;

/// Bytes of hexadecimal digits, whatever is between them.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
