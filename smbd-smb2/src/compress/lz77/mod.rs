//! Plain LZ77 (MS-XCA 2.3, 2.4).

mod decode;
mod encode;

pub use decode::decode;
pub use encode::Encoder;

/// The longest distance of a match in bytes (MS-XCA 2.3.4).
const DISTANCE_MAX: usize = 8192;
/// The shortest match in bytes.
const MATCH_MIN: usize = 3;
