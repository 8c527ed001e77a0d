//! The memory of requests.

use bytes::Bytes;
use smbd_core::endpoint::Chunks;

/// The longest request whose memory is used again, in bytes.
const REQUEST_MAX: usize = 2 << 10;

/// A request. A transport keeps up to 32 of them before it tells that they were sent, and chunks would not have room for so many that have
/// data.
pub(super) fn request(chunks: &mut Chunks, message: [&[u8]; 2]) -> Bytes {
    let len = message.iter().fold(0_usize, |len, piece| len.saturating_add(piece.len()));
    if len > REQUEST_MAX { message.concat().into() } else { chunks.copy(&message).freeze() }
}
