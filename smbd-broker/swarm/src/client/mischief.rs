//! What a client must not say.

use smbd_testkit::Chance;

/// Another message in the place of a valid one.
pub fn change(message: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = message.to_vec();
    let at = chance.below(bytes.len().max(1));
    match chance.below(6) {
        0 => bytes.truncate(at.max(1)),
        1 => bytes.extend_from_slice(message),
        2 => bytes[at..].fill(0xFF),
        // A field of its beginning.
        3 => bytes[at % 128.min(message.len())] = chance.bits() as u8,
        4 => bytes = vec![chance.bits() as u8; chance.size(1, 3000)],
        _ => bytes[at] ^= 1 << chance.below(8),
    }
    bytes
}
