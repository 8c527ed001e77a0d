use thiserror::Error;

/// A packet that is not as it should be. It ends the socket that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// The packet ends inside a field.
    #[error("{field} of {message} is cut: it needs {needed} bytes, and the message has {left} left")]
    Cut {
        /// The message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A field has a value that it must not have.
    #[error("{field} of {message} is {value}: {valid}")]
    Value {
        /// The message.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        valid: &'static str,
    },
    /// A message goes on behind its last field.
    #[error("{message} has {len} bytes behind its last field")]
    Behind {
        /// The message.
        message: &'static str,
        /// How many bytes.
        len: usize,
    },
    /// A packet has no message.
    #[error("the packet is empty")]
    Empty,
}
