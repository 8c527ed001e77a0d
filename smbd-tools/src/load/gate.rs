//! The time of the measurement, common to all connections.

use std::cell::Cell;
use std::time::Duration;

use smbd_core::Instant;

/// Length of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// All operations that complete in this time.
    Time(Duration),
    /// This number of operations, of each connection.
    Count(u64),
}

/// Starts the measurement when all connections are ready and the warm-up time is over.
#[derive(Debug)]
pub struct Gate {
    connections: u32,
    warm_up: Duration,
    length: Length,
    ready: Cell<u32>,
    /// Measuring begins.
    start: Cell<Option<Instant>>,
    /// The last measured completion.
    last: Cell<Option<Instant>>,
    given_up: Cell<bool>,
}

/// What a completion counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    WarmingUp,
    Measuring,
    Over,
}

impl Gate {
    /// A gate for this number of connections.
    #[must_use]
    pub const fn new(connections: u32, warm_up: Duration, length: Length) -> Self {
        Self {
            connections,
            warm_up,
            length,
            ready: Cell::new(0),
            start: Cell::new(None),
            last: Cell::new(None),
            given_up: Cell::new(false),
        }
    }

    /// The start of the measurement, past or future; `None` before all connections are ready.
    #[must_use]
    pub const fn start(&self) -> Option<Instant> {
        self.start.get()
    }

    /// The measured time: all of a [`Length::Time`], otherwise from the start to the last completion.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        match (self.length, self.start.get(), self.last.get()) {
            (Length::Time(time), Some(_), _) => time,
            (Length::Count(_), Some(start), Some(last)) => last.saturating_since(start),
            _ => Duration::ZERO,
        }
    }

    /// A connection has everything it needs.
    pub(super) fn ready(&self, now: Instant) {
        self.ready.set(self.ready.get() + 1);
        if self.ready.get() == self.connections {
            self.start.set(Some(now.saturating_add(self.warm_up)));
        }
    }

    /// A connection failed: all the others end, too.
    pub(super) fn give_up(&self) {
        self.given_up.set(true);
    }

    /// What a completion now counts for, on a connection that has `measured` of them.
    pub(super) fn look(&self, now: Instant, measured: u64) -> Now {
        if self.given_up.get() {
            return Now::Over;
        }
        let Some(start) = self.start.get().filter(|start| now >= *start) else { return Now::WarmingUp };
        let over = match self.length {
            Length::Time(time) => now >= start.saturating_add(time),
            Length::Count(count) => measured >= count,
        };
        if over {
            return Now::Over;
        }
        Now::Measuring
    }

    pub(super) fn completed(&self, now: Instant) {
        self.last.set(Some(now));
    }
}
