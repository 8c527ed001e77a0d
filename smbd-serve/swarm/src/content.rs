//! What is in a file, as far as it is known.

/// A byte: one of two values, or anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Byte {
    one: u8,
    other: u8,
    is_wild: bool,
}

impl Byte {
    const fn certain(value: u8) -> Self {
        Self { one: value, other: value, is_wild: false }
    }
}

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub struct Content(Vec<Byte>);

impl Content {
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// What is beyond is gone, what is new is zero.
    pub fn resize(&mut self, len: usize) {
        self.0.resize(len, Byte::default());
    }

    /// These bytes were written.
    pub fn wrote(&mut self, offset: usize, data: &[u8]) {
        self.grow(offset + data.len());
        for (to, byte) in self.0.iter_mut().skip(offset).zip(data) {
            *to = Byte::certain(*byte);
        }
    }

    /// Each of these bytes was written, or not.
    pub fn perhaps(&mut self, offset: usize, data: &[u8]) {
        for (to, byte) in self.0.iter_mut().skip(offset).zip(data) {
            to.is_wild |= to.one != to.other;
            to.other = *byte;
        }
    }

    fn grow(&mut self, len: usize) {
        if self.0.len() < len {
            self.resize(len);
        }
    }

    /// The first byte that cannot be there, of those that were read at `offset`.
    pub fn wrong(&self, offset: usize, data: &[u8]) -> Option<usize> {
        let is_wrong = |(byte, got): (&Byte, &u8)| !byte.is_wild && *got != byte.one && *got != byte.other;
        self.0.iter().skip(offset).zip(data).position(is_wrong).map(|at| at + offset)
    }
}
