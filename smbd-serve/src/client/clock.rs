//! The time of the day, and time that passes.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// From 1601 to 1970, in 100 ns.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The time of the day as a FILETIME: for files.
#[expect(clippy::disallowed_methods, reason = "clients are told the time of the day, and files have it")]
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() / 100).unwrap_or(0).saturating_add(EPOCH)
}

/// The clock of a client, by which its timers go. It begins with the time of the day, and goes on with the monotonic clock: it does not
/// jump when somebody sets the time of the day.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    at: u64,
    began: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { at: now(), began: Instant::now() }
    }

    /// A FILETIME.
    pub(super) fn now(&self) -> u64 {
        let passed = u64::try_from(self.began.elapsed().as_nanos() / 100).unwrap_or(u64::MAX);
        self.at.saturating_add(passed)
    }

    /// How long it takes until then.
    pub(super) fn until(&self, then: u64) -> Duration {
        // Units of 100 ns.
        Duration::from_nanos(then.saturating_sub(self.now()).saturating_mul(100))
    }
}
