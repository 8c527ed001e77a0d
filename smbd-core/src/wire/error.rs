use thiserror::Error;

use super::Field;

/// A message that cannot be read or written.
///
/// Offsets and sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the message does.
    #[error(
        "{}: {} at offset {offset} needs {needed} bytes, message has {got} ({})",
        .field.message, .field.name, .field.section
    )]
    Truncated {
        /// The first field that is not complete.
        field: &'static Field,
        /// Where the field begins, counted from the beginning of the bytes given.
        offset: usize,
        /// The size of the field.
        needed: usize,
        /// Number of bytes given, from the beginning of the message or array.
        got: usize,
    },
    /// The output buffer is too small; nothing was written.
    #[error("{message}: encoding needs {needed} bytes, buffer has {got} ({section})")]
    NoRoom {
        /// The message that was to be written.
        message: &'static str,
        /// The section that defines it.
        section: &'static str,
        /// The size of its encoding.
        needed: usize,
        /// The size of the output buffer.
        got: usize,
    },
    /// A field is zero, and has to be at least 1.
    #[error("{}: {} at offset {} is zero ({})", .field.message, .field.name, .field.range.start, .field.section)]
    Zero {
        /// The first such field.
        field: &'static Field,
    },
}
