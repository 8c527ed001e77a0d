use bytes::Bytes;

/// A piece of a received message; a whole one if nothing remains and nothing was before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes; at least one.
    pub bytes: Bytes,
    /// Bytes of the message that follow in later pieces: RemainingDataLength (2.2.3).
    pub remaining: u32,
}
