//! What has to be different each time: made of what the driver gave.

use core::fmt;

use crate::security::PreauthHash;

/// Values of a seed: SHA-512 over it and a count. Whoever does not know the seed knows none of them from the others.
pub(super) struct Entropy {
    seed: [u8; 32],
    used: u64,
}

impl Entropy {
    pub(super) const fn new(seed: [u8; 32]) -> Self {
        Self { seed, used: 0 }
    }

    pub(super) fn next(&mut self) -> [u8; 32] {
        let mut hash = PreauthHash::new();
        hash.update([&self.seed[..], &self.used.to_le_bytes()]);
        self.used = self.used.wrapping_add(1);
        hash.bytes().first_chunk().copied().unwrap_or_default()
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next().first_chunk().copied().map(u64::from_le_bytes).unwrap_or_default()
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entropy").field("used", &self.used).finish_non_exhaustive()
    }
}
