//! Choices that a test makes for a server.

/// Numbers in a circle.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    numbers: Vec<u8>,
    at: usize,
}

impl Tape {
    pub fn new(numbers: Vec<u8>) -> Self {
        Self { numbers, at: 0 }
    }

    /// Below `count`; 0 if there are no numbers.
    pub fn pick(&mut self, count: usize) -> usize {
        if self.numbers.is_empty() {
            return 0;
        }
        self.at += 1;
        usize::from(self.numbers[self.at % self.numbers.len()]) % count
    }
}
