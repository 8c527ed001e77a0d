//! The clock of the ends in a program.

use smbd_core::Instant;

/// A monotonic clock. Copies share the origin, so the times of several ends can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock whose origin is now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the backend's clock")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Time since the origin.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::ORIGIN.saturating_add(self.0.elapsed())
    }
}
