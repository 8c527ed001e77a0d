//! The clock of the backends of this crate.

use rustix::time::{ClockId, clock_gettime};
use smbd_core::Instant;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A monotonic clock with a resolution of 1 ns. Copies share the origin, so instants of connections with the same clock
/// can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Its origin on the system's clock, in nanoseconds.
    origin: u64,
}

impl Clock {
    /// A clock whose origin is now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: system_nanos() }
    }

    /// The time since the origin.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::from_nanos(system_nanos().saturating_sub(self.origin))
    }
}

/// Read several times for each message, so without the normalised durations of `std::time`, and without checks: a monotonic clock is never
/// negative, and 64 bits are enough for 584 years.
#[inline]
fn system_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned().wrapping_mul(NANOS_PER_SEC).wrapping_add(now.tv_nsec.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn copies_share_the_origin_and_time_never_goes_back() {
        let clock = Clock::start();
        let copy = clock;
        let mut last = clock.now();
        for _ in 0..1000 {
            let now = copy.now();
            assert!(now >= last);
            last = now;
        }
    }
}
