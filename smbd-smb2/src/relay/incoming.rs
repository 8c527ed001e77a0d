//! A message while it arrives: what is kept of it, and what is still to come.

use alloc::vec::Vec;

/// The front of a message is kept until it is clear what becomes of it; the rest is never copied.
#[derive(Debug)]
pub(super) struct Incoming {
    held: Vec<u8>,
    /// How many of the bytes in `held` were taken.
    at: usize,
    /// Bytes that have not come yet.
    left: usize,
}

/// Bytes that were taken off the front of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<'a> {
    /// The last so many bytes that were taken from what is kept: [`Incoming::taken`].
    Held(usize),
    /// Bytes as they came.
    Stream(&'a [u8]),
}

impl Taken<'_> {
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Held(len) => *len,
            Self::Stream(bytes) => bytes.len(),
        }
    }
}

/// Takes up to `max` bytes off the front.
pub(super) fn split<'a>(stream: &mut &'a [u8], max: usize) -> &'a [u8] {
    let (front, rest) = stream.split_at_checked(max).unwrap_or((stream, &[]));
    *stream = rest;
    front
}

impl Incoming {
    pub(super) const fn new() -> Self {
        Self { held: Vec::new(), at: 0, left: 0 }
    }

    /// Begins a message of `len` bytes.
    #[inline]
    pub(super) fn begin(&mut self, len: usize) {
        self.held.clear();
        self.at = 0;
        self.left = len;
    }

    /// Bytes of the message that were not taken.
    pub(super) const fn remaining(&self) -> usize {
        self.held.len().saturating_sub(self.at).saturating_add(self.left)
    }

    /// What is kept.
    #[inline]
    pub(super) fn held(&self) -> &[u8] {
        self.held.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn held_mut(&mut self) -> &mut [u8] {
        self.held.get_mut(self.at..).unwrap_or_default()
    }

    /// Keeps bytes until there are `wanted` of them, or all of the message. Whether that is so.
    pub(super) fn fill(&mut self, stream: &mut &[u8], wanted: usize) -> bool {
        let have = self.held.len().saturating_sub(self.at);
        let missing = wanted.saturating_sub(have).min(self.left);
        if missing == 0 {
            return true;
        }
        // What was taken gives room.
        if have == 0 {
            self.held.clear();
        } else if self.at > 0 {
            self.held.drain(..self.at);
        }
        self.at = 0;
        // Doubling could take more than the limit.
        self.held.reserve_exact(missing);
        let bytes = split(stream, missing);
        self.held.extend_from_slice(bytes);
        self.left = self.left.saturating_sub(bytes.len());
        bytes.len() == missing
    }

    /// Whether the first `wanted` bytes are there, or all of the message: [`Self::front`] has them. They are kept only if they did not
    /// come together.
    #[inline]
    pub(super) fn has(&mut self, stream: &mut &[u8], wanted: usize) -> bool {
        (self.is_in_stream() && stream.len() >= wanted.min(self.left)) || self.fill(stream, wanted)
    }

    /// What is there of the next `max` bytes, where it is.
    #[inline]
    pub(super) fn front<'f>(&'f self, stream: &'f [u8], max: usize) -> &'f [u8] {
        let (bytes, max) =
            if self.is_in_stream() { (stream, max.min(self.left)) } else { (self.held(), max) };
        bytes.get(..max).unwrap_or(bytes)
    }

    /// How many of the next `max` bytes can be taken at once.
    #[inline]
    pub(super) fn available(&self, stream: &[u8], max: usize) -> usize {
        match self.held.len().saturating_sub(self.at) {
            0 => stream.len().min(self.left).min(max),
            have => have.min(max),
        }
    }

    /// The bytes that were taken last.
    #[inline]
    pub(super) fn bytes<'r, 'a: 'r>(&'r self, taken: Taken<'a>) -> &'r [u8] {
        match taken {
            Taken::Held(len) => self.taken(len),
            Taken::Stream(bytes) => bytes,
        }
    }

    /// Takes up to `max` bytes; none if none have come.
    #[inline]
    pub(super) fn take<'a>(&mut self, stream: &mut &'a [u8], max: usize) -> Taken<'a> {
        let have = self.held.len().saturating_sub(self.at);
        if have > 0 {
            let len = have.min(max);
            self.at = self.at.saturating_add(len);
            return Taken::Held(len);
        }
        let bytes = split(stream, max.min(self.left));
        self.left = self.left.saturating_sub(bytes.len());
        Taken::Stream(bytes)
    }

    /// Whether all that comes next is still in the stream.
    pub(super) const fn is_in_stream(&self) -> bool {
        self.at >= self.held.len()
    }

    /// Bytes were taken off the stream by somebody else.
    pub(super) const fn pass_by(&mut self, len: usize) {
        self.left = self.left.saturating_sub(len);
    }

    /// The last `len` bytes that were taken from what is kept.
    pub(super) fn taken(&self, len: usize) -> &[u8] {
        self.held.get(self.at.saturating_sub(len)..self.at).unwrap_or_default()
    }
}
