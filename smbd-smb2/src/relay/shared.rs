//! What both directions of a relay know.

use super::config::Config;
use super::pending::Pending;
use super::seen::Seen;
use super::statistics::Statistics;
use crate::wire::Dialect;

/// What both directions know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) pending: Pending,
    pub(super) statistics: Statistics,
    pub(super) seen: Seen,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        let (pending, statistics) = (Pending::new(config.params()), Statistics::default());
        Self { config: *config, pending, statistics, seen: Seen::default() }
    }

    /// Whether RDMA_V1_INVALIDATE is a channel: in 3.0 it is none (3.3.5.12, 3.3.5.13).
    pub(super) fn may_invalidate(&self) -> bool {
        self.seen.dialect != Some(Dialect::SMB_3_0)
    }
}

/// Counts.
pub(super) const fn add(counter: &mut u64, count: u64) {
    *counter = counter.saturating_add(count);
}
