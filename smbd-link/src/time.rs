//! Time, as what drives a connection needs it.

use std::future::Future;

use smbd_core::Instant;

/// A clock whose time can be waited for.
pub trait Clock {
    /// Ready at a time.
    type Sleep: Future<Output = ()>;

    /// Now. Never goes back.
    fn now(&self) -> Instant;

    /// Ready at `at`.
    fn sleep_until(&self, at: Instant) -> Self::Sleep;
}

/// The time of tokio's runtime, from when it is made.
#[cfg(feature = "time")]
#[derive(Clone, Copy, Debug)]
pub struct TokioTime(tokio::time::Instant);

#[cfg(feature = "time")]
impl TokioTime {
    /// Begins now. Call it inside a runtime with time enabled.
    #[must_use]
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }
}

#[cfg(feature = "time")]
impl Clock for TokioTime {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Instant {
        Instant::ORIGIN.saturating_add(self.0.elapsed())
    }

    fn sleep_until(&self, at: Instant) -> tokio::time::Sleep {
        tokio::time::sleep(at.saturating_since(self.now()))
    }
}
