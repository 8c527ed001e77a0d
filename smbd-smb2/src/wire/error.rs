use thiserror::Error;

use super::place::Place;

/// A message that cannot be read or written. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before the field does.
    #[error("{}: {} ends at {}, and there are {got} bytes ({})", .field.message, .field.name, .field.end(), .field.section)]
    Truncated {
        /// The first field that is not complete.
        field: &'static Place,
        /// Number of bytes that are there, from the beginning of the structure.
        got: u64,
    },
    /// A field has a value that makes the rest unreadable.
    #[error("{}: {} is {value}, expected {expected} ({})", .field.message, .field.name, .field.section)]
    Value {
        /// The field.
        field: &'static Place,
        /// Its value.
        value: u64,
        /// The only valid value.
        expected: u64,
    },
    /// An offset that has to be a multiple of 8 and is not.
    #[error("{}: {} is {value}, which is not a multiple of 8 ({})", .field.message, .field.name, .field.section)]
    Misaligned {
        /// The field with the offset.
        field: &'static Place,
        /// Its value.
        value: u64,
    },
    /// What an offset points to begins before the end of the fixed part.
    #[error("{}: {} is {value}, and the fixed part ends at {first} ({})", .field.message, .field.name, .field.section)]
    Inside {
        /// The field with the offset.
        field: &'static Place,
        /// Its value.
        value: u64,
        /// The lowest valid value.
        first: u64,
    },
    /// What an offset and a length describe ends beyond the bytes that are there.
    #[error(
        "{}: {} says {length} bytes at {offset}, and there are {got} bytes ({})",
        .field.message, .field.name, .field.section
    )]
    Beyond {
        /// The field with the length, or with the number of elements.
        field: &'static Place,
        /// Where the buffer begins, from the beginning of the structure.
        offset: u64,
        /// Its length.
        length: u64,
        /// Number of bytes that are there, from the beginning of the structure.
        got: u64,
    },
    /// A list of elements of one size ends with a part of one.
    #[error("{}: {} is {value}, which is not a multiple of {size} ({})", .field.message, .field.name, .field.section)]
    Ragged {
        /// The field with the length.
        field: &'static Place,
        /// Its value.
        value: u64,
        /// The size of an element.
        size: u64,
    },
    /// A value that is to be written is more than its field can hold.
    #[error("{}: {} would be {value}, and can be {max} at most ({})", .field.message, .field.name, .field.section)]
    TooLarge {
        /// The field.
        field: &'static Place,
        /// The value.
        value: u64,
        /// The largest possible value.
        max: u64,
    },
}
