//! AES in Galois/counter mode (SP800-38D), and its authentication alone: AES-GMAC.

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, StreamCipher};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use zeroize::Zeroize;

use super::super::blocks::Blocks;
use super::stream::stream;

/// The hash under a key: associated data, then data, each in any number of pieces.
#[derive(Clone)]
pub(in super::super) struct Hash {
    hash: GHash,
    blocks: Blocks,
    associated: u64,
    data: u64,
}

impl Hash {
    /// The hash under the key that `cipher` has.
    pub(in super::super) fn new(cipher: &impl BlockCipherEncrypt<BlockSize = U16>) -> Self {
        let mut key = Array::from([0; 16]);
        cipher.encrypt_block(&mut key);
        let hash = GHash::new(&key);
        key.zeroize();
        Self { hash, blocks: Blocks::new(), associated: 0, data: 0 }
    }

    fn feed(&mut self, piece: &[u8]) {
        let hash = &mut self.hash;
        self.blocks.feed(piece, |blocks| hash.update(Array::cast_slice_from_core(blocks)));
    }

    fn pad(&mut self) {
        let hash = &mut self.hash;
        self.blocks.pad(|blocks| hash.update(Array::cast_slice_from_core(blocks)));
    }

    /// Adds associated data. All of them come before the data.
    pub(in super::super) fn associate(&mut self, piece: &[u8]) {
        self.associated = self.associated.saturating_add(piece.len() as u64);
        self.feed(piece);
    }

    fn update(&mut self, piece: &[u8]) {
        if self.data == 0 {
            self.pad();
        }
        self.data = self.data.saturating_add(piece.len() as u64);
        self.feed(piece);
    }

    fn finish(mut self) -> [u8; 16] {
        self.pad();
        let bits = |bytes: u64| u128::from(bytes.saturating_mul(8));
        let lengths = bits(self.associated) << 64 | bits(self.data);
        self.hash.update(&[lengths.to_be_bytes().into()]);
        self.hash.finalize().into()
    }

    /// The tag of associated data alone.
    pub(in super::super) fn tag(
        self,
        cipher: &impl BlockCipherEncrypt<BlockSize = U16>,
        nonce: &[u8; 12],
    ) -> [u8; 16] {
        let (_, mask) = stream(cipher, counter(nonce));
        mask.hide(self.finish())
    }
}

/// The first counter block: it hides the tag.
fn counter(nonce: &[u8; 12]) -> [u8; 16] {
    let mut block = [0; 16];
    for (to, from) in block.iter_mut().zip(nonce.iter().chain(&[0, 0, 0, 1])) {
        *to = *from;
    }
    block
}

/// Encrypts parts in place. Each is hashed while it is in the first cache.
pub(super) fn seal<'p, C: BlockCipherEncrypt<BlockSize = U16>>(
    (cipher, hash): (&C, &Hash),
    nonce: &[u8; 12],
    associated: &[u8],
    parts: impl Iterator<Item = &'p mut [u8]>,
) -> [u8; 16] {
    let mut hash = hash.clone();
    hash.associate(associated);
    let (mut stream, mask) = stream(cipher, counter(nonce));
    for part in parts {
        stream.apply_keystream(part);
        hash.update(part);
    }
    mask.hide(hash.finish())
}

/// The tag that encrypted pieces have to have.
pub(super) fn expected<C: BlockCipherEncrypt<BlockSize = U16>>(
    (cipher, hash): (&C, &Hash),
    nonce: &[u8; 12],
    associated: &[u8],
    pieces: &[&mut [u8]],
) -> [u8; 16] {
    let mut hash = hash.clone();
    hash.associate(associated);
    pieces.iter().for_each(|piece| hash.update(piece));
    hash.tag(cipher, nonce)
}

/// Decrypts the pieces in place.
pub(super) fn decrypt<C: BlockCipherEncrypt<BlockSize = U16>>(
    cipher: &C,
    nonce: &[u8; 12],
    pieces: &mut [&mut [u8]],
) {
    let (mut stream, _) = stream(cipher, counter(nonce));
    pieces.iter_mut().for_each(|piece| stream.apply_keystream(piece));
}
