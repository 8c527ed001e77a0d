//! LZ77+Huffman (MS-XCA 2.1, 2.2).

mod bits;
mod code;
mod decode;
mod encode;
mod matches;
mod table;

pub use decode::Decoder;
pub use encode::Encoder;

/// Number of symbols of a code: 256 literals, and as many kinds of matches (MS-XCA 2.1).
const SYMBOLS: usize = 512;
/// The symbol behind the last item, and that of a match of length 3 and distance 1.
const END: usize = 256;
/// The longest code of a symbol in bits (MS-XCA 2.1.4.2).
const BITS_MAX: u32 = 15;
/// Size of the lengths of all codes, two to a byte.
const LENGTHS: usize = SYMBOLS / 2;
/// The item that reaches this number of plain bytes ends a block (MS-XCA 2.2.4).
const BLOCK: usize = 65536;
/// The shortest match in bytes.
const MATCH_MIN: usize = 3;
