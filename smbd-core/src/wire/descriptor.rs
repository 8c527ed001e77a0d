//! Buffer Descriptor V1 (2.2.3.1): a segment of a registered buffer, as the upper layer sends it to its peer.

use core::fmt;

use super::WireError;
use super::layout::layout;
use super::words::{Word, long, split_long, words, words_mut};

layout! { "Buffer Descriptor V1", "2.2.3.1":
    OFFSET = "Offset" at 0..8;
    TOKEN = "Token" at 8..12;
    LENGTH = "Length" at 12..16;
}

/// A Steering Tag (2.2.3.1; `rkey` in verbs) as a plain number. It is little-endian on the wire. A backend converts it
/// if its provider uses another byte order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u32);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({self})")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

/// One segment of a registered buffer (`SMB_DIRECT_BUFFER_DESCRIPTOR_1`, 2.2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferDescriptorV1 {
    /// Where the segment begins: an offset in bytes that the RDMA provider defines, often a virtual address.
    pub offset: u64,
    /// The token that gives access to it.
    pub token: Token,
    /// Its size in bytes.
    pub length: u32,
}

impl BufferDescriptorV1 {
    /// Size of a descriptor in bytes.
    pub const LEN: usize = 16;

    /// Reads one descriptor at the beginning of `bytes`; what follows it is ignored.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`Self::LEN`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        match words(bytes) {
            Some(words) => Ok(Self::from_words(words)),
            None => Err(LAYOUT.truncated(0, bytes.len())),
        }
    }

    /// Writes the descriptor to the beginning of `out` and returns its size in bytes.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] if `out` is shorter than [`Self::LEN`]. Nothing is written then.
    #[inline]
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let got = out.len();
        let Some(words) = words_mut(out) else { return Err(LAYOUT.no_room(Self::LEN, got)) };
        *words = self.to_words();
        Ok(Self::LEN)
    }

    #[inline]
    const fn from_words(&[offset_low, offset_high, token, length]: &[Word; 4]) -> Self {
        Self {
            offset: long(offset_low, offset_high),
            token: Token(u32::from_le_bytes(token)),
            length: u32::from_le_bytes(length),
        }
    }

    #[inline]
    const fn to_words(self) -> [Word; 4] {
        let [offset_low, offset_high] = split_long(self.offset);
        [offset_low, offset_high, self.token.0.to_le_bytes(), self.length.to_le_bytes()]
    }
}

/// Writes descriptors one after the other to the beginning of `out` and returns their size in bytes.
///
/// # Errors
/// [`WireError::NoRoom`] if they do not fit; nothing is written then.
pub fn encode_all(descriptors: &[BufferDescriptorV1], out: &mut [u8]) -> Result<usize, WireError> {
    let needed = descriptors.len().saturating_mul(BufferDescriptorV1::LEN);
    if out.len() < needed {
        return Err(LAYOUT.no_room(needed, out.len()));
    }
    let (elements, _) = out.as_chunks_mut::<4>().0.as_chunks_mut::<4>();
    for (element, descriptor) in elements.iter_mut().zip(descriptors) {
        *element = descriptor.to_words();
    }
    Ok(needed)
}

/// A view of an array of descriptors of any length, as an upper-layer request carries it. Nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct BufferDescriptors<'a> {
    elements: &'a [[Word; 4]],
}

impl<'a> BufferDescriptors<'a> {
    /// The array in `bytes`. An empty slice is an empty array.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the last descriptor is not complete.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let (words, odd_bytes) = bytes.as_chunks::<4>();
        let (elements, odd_words) = words.as_chunks::<4>();
        if odd_bytes.is_empty() && odd_words.is_empty() {
            Ok(Self { elements })
        } else {
            Err(LAYOUT.truncated(elements.as_flattened().as_flattened().len(), bytes.len()))
        }
    }

    /// Number of descriptors.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no descriptor.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The descriptor at `index`, from 0; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<BufferDescriptorV1> {
        self.elements.get(index).map(BufferDescriptorV1::from_words)
    }

    /// The descriptors in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = BufferDescriptorV1> + DoubleEndedIterator + 'a {
        self.elements.iter().map(BufferDescriptorV1::from_words)
    }
}
