//! How long operations took.

use hdrhistogram::Histogram;

/// Durations in nanoseconds, up to a minute with three significant digits. The last one waits until it is recorded: what a
/// histogram takes would be in the time of the next operation, if that begins with the end of this one.
#[derive(Debug)]
pub(super) struct Times {
    recorded: Histogram<u64>,
    last: Option<u64>,
}

impl Times {
    /// # Panics
    /// Never: the bounds are constants.
    pub(super) fn new() -> Self {
        let recorded = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("valid bounds");
        Self { recorded, last: None }
    }

    /// An operation took so long.
    pub(super) fn note(&mut self, nanos: u64) {
        self.record();
        self.last = Some(nanos);
    }

    /// Records what waits.
    pub(super) fn record(&mut self) {
        if let Some(nanos) = self.last.take() {
            self.recorded.saturating_record(nanos);
        }
    }

    /// All but what waits.
    pub(super) const fn recorded(&self) -> &Histogram<u64> {
        &self.recorded
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn the_last_one_waits_and_none_is_lost() {
        let mut times = Times::new();
        for (nanos, recorded) in [(10, 0), (20, 1), (30, 2)] {
            times.note(nanos);
            assert_eq!(times.recorded().len(), recorded);
        }
        for _ in 0..2 {
            times.record();
            assert_eq!((times.recorded().len(), times.recorded().max()), (3, 30));
        }
    }
}
