//! AES in counter mode with CBC-MAC (SP800-38C, RFC 3610): a nonce of 11 bytes, lengths of 4, a tag of 16.

use aes::cipher::consts::U16;
use aes::cipher::{
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, StreamCipher,
    array::Array,
};

use super::super::blocks::Blocks;
use super::stream::{STEP, stream};

/// The CBC-MAC of pieces.
struct Chain<'a, C> {
    cipher: &'a C,
    state: Array<u8, U16>,
    blocks: Blocks,
}

impl<'a, C: BlockCipherEncrypt<BlockSize = U16>> Chain<'a, C> {
    /// With the first block, and the associated data: fewer than 0xff00 bytes.
    fn new(cipher: &'a C, nonce: &[u8; 11], associated: &[u8], len: u32) -> Self {
        let mut chain = Self { cipher, state: Array::from([0; 16]), blocks: Blocks::new() };
        // Flags: associated data; a tag of 16 bytes; a length of 4.
        let flags = if associated.is_empty() { 0x3b } else { 0x7b };
        chain.feed(&[flags]);
        chain.feed(nonce);
        chain.feed(&len.to_be_bytes());
        if let Ok(len) = u16::try_from(associated.len())
            && len > 0
        {
            chain.feed(&len.to_be_bytes());
            chain.feed(associated);
            chain.pad();
        }
        chain
    }

    fn feed(&mut self, piece: &[u8]) {
        let Self { cipher, state, blocks } = self;
        blocks.feed(piece, |blocks| absorb(*cipher, state, blocks));
    }

    fn pad(&mut self) {
        let Self { cipher, state, blocks } = self;
        blocks.pad(|blocks| absorb(*cipher, state, blocks));
    }

    fn finish(mut self) -> [u8; 16] {
        self.pad();
        self.state.into()
    }
}

/// Blocks that are encrypted one after the other, each with the result of the one before.
struct Absorb<'a> {
    state: &'a mut Array<u8, U16>,
    blocks: &'a [[u8; 16]],
}

impl BlockSizeUser for Absorb<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Absorb<'_> {
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for block in self.blocks {
            for (to, from) in self.state.iter_mut().zip(block) {
                *to ^= *from;
            }
            backend.encrypt_block((&mut *self.state).into());
        }
    }
}

fn absorb<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    state: &mut Array<u8, U16>,
    blocks: &[[u8; 16]],
) {
    cipher.encrypt_with_backend(Absorb { state, blocks });
}

/// The first counter block: it hides the tag.
fn counter(nonce: &[u8; 11]) -> [u8; 16] {
    let mut block = [0; 16];
    // Flags: a length of 4.
    for (to, from) in block.iter_mut().zip([3].iter().chain(nonce)) {
        *to = *from;
    }
    block
}

/// Encrypts the pieces in place; `len` is their length together.
pub(super) fn seal<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    nonce: &[u8; 11],
    associated: &[u8],
    pieces: &mut [&mut [u8]],
    len: u32,
) -> [u8; 16] {
    let mut chain = Chain::new(cipher, nonce, associated, len);
    let (mut stream, mask) = stream(cipher, counter(nonce));
    for step in pieces.iter_mut().flat_map(|piece| piece.chunks_mut(STEP)) {
        chain.feed(step);
        stream.apply_keystream(step);
    }
    mask.hide(chain.finish())
}

/// Decrypts the pieces in place. Gives the tag that they have to have.
pub(super) fn open<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    nonce: &[u8; 11],
    associated: &[u8],
    pieces: &mut [&mut [u8]],
    len: u32,
) -> [u8; 16] {
    let mut chain = Chain::new(cipher, nonce, associated, len);
    let (mut stream, mask) = stream(cipher, counter(nonce));
    for step in pieces.iter_mut().flat_map(|piece| piece.chunks_mut(STEP)) {
        stream.apply_keystream(step);
        chain.feed(step);
    }
    mask.hide(chain.finish())
}
