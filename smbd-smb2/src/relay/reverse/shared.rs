//! What both directions know.

use super::config::Config;
use super::memory::Memory;
use super::table::Table;
use crate::relay::Statistics;
use crate::relay::seen::Seen;
use crate::wire::{Channel, Dialect};

/// What both directions know.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) memory: Memory,
    pub(super) table: Table,
    pub(super) statistics: Statistics,
    pub(super) seen: Seen,
}

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        let memory = Memory::new(config.buffers(), config.params().buffer_len);
        let (table, statistics, seen) = (Table::default(), Statistics::default(), Seen::default());
        Self { config: *config, memory, table, statistics, seen }
    }

    /// The channel that a request gets now, if any (3.2.4.6, 3.2.4.7).
    pub(super) fn channel(&self) -> Option<Channel> {
        let dialect = self.seen.dialect.filter(|_| self.seen.has_session)?;
        if dialect < Dialect::SMB_3_0 || dialect > Dialect::SMB_3_1_1 {
            return None;
        }
        let may_invalidate = self.config.params().remote_invalidation && dialect >= Dialect::SMB_3_0_2;
        Some(if may_invalidate { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 })
    }
}
