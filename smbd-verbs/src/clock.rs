//! The clock that backends of this crate read.

use smbd_core::Instant;

/// A monotonic clock. Copies share the origin, so instants of ends that share a clock can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock whose origin is now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "a backend is where the clock is")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The time on it.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::ORIGIN.saturating_add(self.0.elapsed())
    }
}
