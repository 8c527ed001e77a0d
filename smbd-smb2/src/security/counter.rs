//! Uses of a key, counted.

use super::error::SecurityError;

/// Gives every number once, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    used: u64,
    limit: u64,
}

impl Counter {
    pub(super) const fn new() -> Self {
        Self { used: 0, limit: u64::MAX }
    }

    /// One that begins from the start, with the same limit.
    pub(super) const fn again(self) -> Self {
        Self { used: 0, limit: self.limit }
    }

    pub(super) const fn used(self) -> u64 {
        self.used
    }

    /// Lowers the limit; never raises it.
    pub(super) fn limit(&mut self, uses: u64) {
        self.limit = self.limit.min(uses);
    }

    pub(super) fn take(&mut self) -> Result<u64, SecurityError> {
        let taken = self.used;
        if taken >= self.limit {
            return Err(SecurityError::Exhausted { used: taken });
        }
        self.used = taken.saturating_add(1);
        Ok(taken)
    }
}
