//! LZNT1 (MS-XCA 2.5).

mod decode;
mod encode;

pub use decode::decode;
pub use encode::Encoder;

/// Plain bytes of a chunk; the last one may have fewer (MS-XCA 2.5.3).
const CHUNK: usize = 4096;
/// The shortest match in bytes.
const MATCH_MIN: usize = 3;
/// Bits 14 to 12 of a header (MS-XCA 2.5.1.2).
const SIGNATURE: u16 = 3;

/// Number of bits of a length, behind this number of plain bytes of the chunk (MS-XCA 2.5.1.4).
#[inline(always)]
fn length_bits(written: usize) -> u32 {
    let displacement = usize::BITS.wrapping_sub(written.saturating_sub(1).leading_zeros()).clamp(4, 12);
    16_u32.wrapping_sub(displacement)
}
