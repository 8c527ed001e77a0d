//! The result of a measurement.

use std::time::Duration;

use hdrhistogram::Histogram;
use smbd_verbs::{LinkType, QueueCounters};

/// All connections together.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) device: Option<(String, LinkType)>,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) elapsed: Duration,
    /// Nanoseconds.
    pub(crate) times: Histogram<u64>,
    pub(crate) counters: QueueCounters,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) advice: Option<&'static str>,
}

impl Measurement {
    pub(crate) fn per_second(&self) -> f64 {
        self.operations as f64 / self.seconds()
    }

    /// Million bytes per second.
    pub(crate) fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.seconds()
    }

    /// A figure of the queues for each operation.
    pub(crate) fn per_operation(&self, count: u64) -> f64 {
        count as f64 / self.operations.max(1) as f64
    }

    fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64().max(1e-9)
    }

    /// The time that a share of operations did not exceed, in microseconds.
    pub(crate) fn micros_at(&self, share: f64) -> f64 {
        self.times.value_at_quantile(share) as f64 / 1e3
    }
}
