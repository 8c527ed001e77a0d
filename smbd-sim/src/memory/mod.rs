//! A host's memory: buffers with real bytes, and the tokens that open them to peers.
//!
//! Buffers are numbered with a generation, so a handle kept after `free` is found out. Tokens carry an eight-bit key
//! like real ones: the same window bound again has the next key, and a window whose keys are used up is retired, so
//! no token ever comes twice on a host unless [`Tokens::reuse`] asks for it.

mod buffers;
#[cfg(test)]
mod tests;
mod tokens;

pub(crate) use buffers::Hold;
pub use buffers::{Buffer, Buffers, Range};
pub use tokens::{DomainId, Kind, Tokens};
