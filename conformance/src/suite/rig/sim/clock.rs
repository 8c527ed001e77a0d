//! How far virtual time may advance at once.

use std::time::Duration;

use smbd_core::Instant;

/// Between two looks at the devices while something is going on.
const LEAST: Duration = Duration::from_micros(5);
/// Between two looks when nothing has been going on for long.
const MOST: Duration = Duration::from_millis(20);
/// A subject that wants to be driven at a time that has come, and again, and does nothing, is not waited for any longer.
const CUTS_MAX: u32 = 1000;

/// The time, and since when nothing has happened. What the network does by itself is noticed late by a part of the time
/// it was quiet before, and by 20 ms at most; timers are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) now: Instant,
    busy: Instant,
    /// Steps in a row that were cut to nothing.
    cut: u32,
}

impl Clock {
    pub(super) const fn new() -> Self {
        Self { now: Instant::ORIGIN, busy: Instant::ORIGIN, cut: 0 }
    }

    /// Something happened.
    pub(super) const fn is_busy(&mut self) {
        self.busy = self.now;
        self.cut = 0;
    }

    /// Goes on, but not beyond any of the limits.
    pub(super) fn go_on(&mut self, limits: impl IntoIterator<Item = Instant>) {
        let quiet = self.now.saturating_since(self.busy);
        let step = (quiet / 8).clamp(LEAST, MOST);
        let far = self.now.saturating_add(step);
        let near = limits.into_iter().fold(far, Instant::min);
        self.cut = if near > self.now { 0 } else { self.cut + 1 };
        self.now = match self.cut {
            0 => near,
            1..=CUTS_MAX => self.now.saturating_add(Duration::from_nanos(1)),
            _ => far,
        };
    }
}
