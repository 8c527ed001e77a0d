//! AES in counter mode with CBC-MAC (SP800-38C, RFC 3610): a nonce of 11 bytes, lengths of 4, a tag of 16.
//!
//! A block is authenticated and encrypted in one go: the processor works on the key stream while it waits for the code, each of whose
//! blocks needs the one before.

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};

use super::super::blocks::Blocks;

/// Whether data are encrypted or decrypted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// They are encrypted.
    Seal,
    /// They are decrypted.
    Open,
}

/// What there is between two blocks.
#[derive(Clone, Copy)]
struct State {
    /// The code over all plain blocks so far.
    code: [u8; 16],
    /// The next counter block, as a number. Of its last 32 bits, no message needs more than 28.
    counter: u128,
}

/// Blocks that are authenticated and, if they are data, encrypted or decrypted.
struct Work<'a, T> {
    state: &'a mut State,
    blocks: T,
}

/// Associated data.
type Associated<'a> = &'a [[u8; 16]];

/// Data.
type Data<'a> = (&'a mut [[u8; 16]], Direction);

impl<T> BlockSizeUser for Work<'_, T> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Work<'_, Associated<'_>> {
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for block in self.blocks {
            self.state.code = encrypted(backend, xor(self.state.code, *block));
        }
    }
}

impl BlockCipherEncClosure for Work<'_, Data<'_>> {
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let (blocks, direction) = self.blocks;
        let mut state = *self.state;
        for block in blocks {
            let changed = xor(*block, encrypted(backend, state.counter.to_be_bytes()));
            let plain = if direction == Direction::Seal { *block } else { changed };
            state.code = encrypted(backend, xor(state.code, plain));
            state.counter = state.counter.wrapping_add(1);
            *block = changed;
        }
        *self.state = state;
    }
}

fn encrypted<B: BlockCipherEncBackend<BlockSize = U16>>(backend: &B, block: [u8; 16]) -> [u8; 16] {
    let mut block = Array::from(block);
    backend.encrypt_block((&mut block).into());
    block.into()
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Data that come in pieces.
struct Flow<'a, C> {
    cipher: &'a C,
    state: State,
    direction: Direction,
    /// Hides the tag.
    mask: [u8; 16],
    /// Of a block that a piece has begun: its plain bytes, its key stream, and how many bytes of it there were; 0 if there is none.
    plain: [u8; 16],
    stream: [u8; 16],
    at: usize,
}

impl<'a, C: BlockCipherEncrypt<BlockSize = U16>> Flow<'a, C> {
    /// With the first block, and the associated data: fewer than 0xff00 bytes.
    fn new(cipher: &'a C, nonce: &[u8; 11], associated: &[u8], len: u32, direction: Direction) -> Self {
        let mut state = State { code: [0; 16], counter: counter(nonce) };
        let mut blocks = Blocks::new();
        let mut feed = |bytes: &[u8]| blocks.feed(bytes, |blocks| absorb(cipher, &mut state, blocks));
        // Flags: associated data; a tag of 16 bytes; a length of 4.
        feed(&[if associated.is_empty() { 0x3b } else { 0x7b }]);
        feed(nonce);
        feed(&len.to_be_bytes());
        if let Ok(len) = u16::try_from(associated.len())
            && len > 0
        {
            feed(&len.to_be_bytes());
            feed(associated);
        }
        blocks.pad(|blocks| absorb(cipher, &mut state, blocks));
        let mut flow =
            Self { cipher, state, direction, mask: [0; 16], plain: [0; 16], stream: [0; 16], at: 0 };
        flow.mask = flow.next_stream();
        flow
    }

    fn next_stream(&mut self) -> [u8; 16] {
        let mut block = Array::from(self.state.counter.to_be_bytes());
        self.cipher.encrypt_block(&mut block);
        self.state.counter = self.state.counter.wrapping_add(1);
        block.into()
    }

    fn piece(&mut self, piece: &mut [u8]) {
        let missing = if self.at == 0 { 0 } else { 16_usize.saturating_sub(self.at) };
        let (head, rest) = piece.split_at_mut(missing.min(piece.len()));
        self.bytes(head);
        let (blocks, tail) = rest.as_chunks_mut();
        let work = Work { state: &mut self.state, blocks: (&mut *blocks, self.direction) };
        self.cipher.encrypt_with_backend(work);
        self.bytes(tail);
    }

    /// Bytes of one block.
    fn bytes(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.at == 0 {
            self.stream = self.next_stream();
            self.plain = [0; 16];
        }
        let begun = self.plain.iter_mut().zip(&self.stream).skip(self.at);
        for ((plain, stream), byte) in begun.zip(&mut *bytes) {
            let changed = *byte ^ *stream;
            *plain = if self.direction == Direction::Seal { *byte } else { changed };
            *byte = changed;
        }
        self.at = self.at.saturating_add(bytes.len());
        if self.at == 16 {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        absorb(self.cipher, &mut self.state, &[self.plain]);
        self.at = 0;
    }

    fn tag(mut self) -> [u8; 16] {
        if self.at > 0 {
            self.end_block();
        }
        xor(self.state.code, self.mask)
    }
}

fn absorb<C: BlockCipherEncrypt<BlockSize = U16>>(cipher: &C, state: &mut State, blocks: &[[u8; 16]]) {
    cipher.encrypt_with_backend(Work { state, blocks });
}

/// The first counter block.
fn counter(nonce: &[u8; 11]) -> u128 {
    let mut block = [0; 16];
    // Flags: a length of 4.
    for (to, from) in block.iter_mut().zip([3].iter().chain(nonce)) {
        *to = *from;
    }
    u128::from_be_bytes(block)
}

/// Encrypts or decrypts parts in place; `len` is their length together. Gives the tag that they get, or have to have.
pub(super) fn run<'p, C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    direction: Direction,
    (nonce, associated): (&[u8; 11], &[u8]),
    parts: impl Iterator<Item = &'p mut [u8]>,
    len: u32,
) -> [u8; 16] {
    let mut flow = Flow::new(cipher, nonce, associated, len, direction);
    parts.for_each(|part| flow.piece(part));
    flow.tag()
}
