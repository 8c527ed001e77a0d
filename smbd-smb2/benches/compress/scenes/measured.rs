//! The calls that are measured, and nothing else.

use smbd_smb2::compress::{Compressor, DataError, DecompressError, Decompressor};

use super::Codec;

#[inline(never)]
pub fn encode(codec: &mut Codec, plain: &[u8], out: &mut [u8]) -> Option<usize> {
    codec.encode(plain, out)
}

#[inline(never)]
pub fn decode(codec: &mut Codec, data: &[u8], out: &mut [u8]) -> Result<(), DataError> {
    codec.decode(data, out)
}

#[inline(never)]
pub fn compress(compressor: &mut Compressor, message: &[u8], out: &mut Vec<u8>) -> bool {
    compressor.compress(message, 64, out)
}

#[inline(never)]
pub fn decompress(
    decompressor: &mut Decompressor,
    message: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), DecompressError> {
    decompressor.decompress(message, usize::MAX, out)
}
