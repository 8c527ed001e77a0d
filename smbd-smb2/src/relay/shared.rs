//! What both directions of a relay know.

use super::config::Config;
use super::element::Front;
use super::pending::Pending;
use super::statistics::Statistics;
use crate::wire::negotiate::response;
use crate::wire::{Dialect, NtStatus};

/// What both directions know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) pending: Pending,
    pub(super) statistics: Statistics,
    /// Whether RDMA_V1_INVALIDATE is a channel: in 3.0 it is none (3.3.5.12, 3.3.5.13).
    pub(super) may_invalidate: bool,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        let (pending, statistics) = (Pending::new(config.params()), Statistics::default());
        Self { config: *config, pending, statistics, may_invalidate: true }
    }

    /// The answer to NEGOTIATE, by its first bytes (2.2.4).
    pub(super) fn on_negotiate(&mut self, header: &Front, element: &[u8]) {
        if header.is_response() && header.status == NtStatus::SUCCESS {
            self.may_invalidate = response::DIALECT_REVISION.get(element) != Ok(Dialect::SMB_3_0);
        }
    }
}

/// Counts.
pub(super) const fn add(counter: &mut u64, count: u64) {
    *counter = counter.saturating_add(count);
}
