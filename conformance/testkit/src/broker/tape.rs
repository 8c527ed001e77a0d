//! Choices, out of bytes.

/// Bytes of which each choice takes some. Behind their end all choices are 0.
#[derive(Clone, Copy, Debug)]
pub struct Tape<'a>(pub &'a [u8]);

impl Tape<'_> {
    pub const fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or_default()
    }

    /// A number below `end`, which is 1 to 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// True once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 1
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len().min(256));
        from.get(at).copied()
    }
}
