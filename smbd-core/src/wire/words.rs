//! Every message is a sequence of 32-bit words, and no field crosses a word boundary. After one check of the number of
//! words every field is readable without a further branch.

/// Four bytes as they are on the wire.
pub(super) type Word = [u8; 4];

/// The first `N` words, or `None` if there are fewer.
#[inline(always)]
pub(super) fn words<const N: usize>(bytes: &[u8]) -> Option<&[Word; N]> {
    bytes.as_chunks::<4>().0.first_chunk()
}

/// The first `N` words to write to, or `None` if there is less room.
#[inline(always)]
pub(super) fn words_mut<const N: usize>(bytes: &mut [u8]) -> Option<&mut [Word; N]> {
    bytes.as_chunks_mut::<4>().0.first_chunk_mut()
}

/// The 16-bit field in the first half of a word.
#[inline(always)]
pub(super) const fn first_half([a, b, _, _]: Word) -> u16 {
    u16::from_le_bytes([a, b])
}

/// The 16-bit field in the second half of a word.
#[inline(always)]
pub(super) const fn second_half([_, _, a, b]: Word) -> u16 {
    u16::from_le_bytes([a, b])
}

/// Two 16-bit fields as one word.
#[inline(always)]
pub(super) const fn pair(first: u16, second: u16) -> Word {
    let ([a, b], [c, d]) = (first.to_le_bytes(), second.to_le_bytes());
    [a, b, c, d]
}

/// The 64-bit field in two words.
#[inline(always)]
pub(super) const fn long([a, b, c, d]: Word, [e, f, g, h]: Word) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// A 64-bit field as two words.
#[inline(always)]
pub(super) const fn split_long(value: u64) -> [Word; 2] {
    let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
    [[a, b, c, d], [e, f, g, h]]
}
