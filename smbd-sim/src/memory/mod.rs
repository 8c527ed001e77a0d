//! The memory of a host: buffers with real bytes, and the tokens that give peers access to them.
//!
//! Buffers have a number and a generation, so the use of a handle after `free` is detected. Tokens have an eight-bit
//! key like real ones: a window that is bound again has the next key, and a window without unused keys is not bound
//! again. So a host never repeats a token unless [`Tokens::reuse`] is set.

mod buffers;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use buffers::Hold;
pub use buffers::{Buffer, Buffers, Range};
pub use tokens::{DomainId, Kind, Tokens};
