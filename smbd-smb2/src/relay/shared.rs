//! What both directions of a relay know.

use super::config::Config;
use super::pending::Pending;
use super::statistics::Statistics;

/// What both directions know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) pending: Pending,
    pub(super) statistics: Statistics,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        Self { config: *config, pending: Pending::new(config.params()), statistics: Statistics::default() }
    }
}

/// Counts.
pub(super) const fn add(counter: &mut u64, count: u64) {
    *counter = counter.saturating_add(count);
}
