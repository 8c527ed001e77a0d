//! Contents of files, and folders for them.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of which no part is like another.
pub fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(word).collect();
    bytes.truncate(len);
    bytes
}

/// Bytes that go up by 7, and by one more in each 251, from `first` on.
pub fn steps(len: usize, first: u8) -> Vec<u8> {
    (0..len).map(|at| ((at * 7 + at / 251) as u8).wrapping_add(first)).collect()
}

/// A folder of a test's own below `under`, empty.
///
/// # Panics
/// The folder cannot be made.
pub fn folder(under: &str, test: &str) -> PathBuf {
    let folder = Path::new(under).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
