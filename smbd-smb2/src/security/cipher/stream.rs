//! Counter mode, as GCM uses it.

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, InnerIvInit, StreamCipher};
use ctr::{Ctr32BE, CtrCore};

/// How much is encrypted before it is hashed, in bytes: it stays in the first cache.
pub(super) const STEP: usize = 4096;

/// The key stream that begins with this counter, without its first block; and the first block, which hides the tag. It is good for
/// 2^32 - 1 blocks, more than a message can have.
pub(super) fn stream<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    counter: [u8; 16],
) -> (Ctr32BE<&C>, Mask) {
    let mut stream = Ctr32BE::from_core(CtrCore::inner_iv_init(cipher, &counter.into()));
    let mut mask = [0; 16];
    stream.apply_keystream(&mut mask);
    (stream, Mask(mask))
}

/// What hides a tag.
pub(super) struct Mask([u8; 16]);

impl Mask {
    pub(super) fn hide(self, tag: [u8; 16]) -> [u8; 16] {
        (u128::from_ne_bytes(tag) ^ u128::from_ne_bytes(self.0)).to_ne_bytes()
    }
}
