//! What both directions know.

use super::config::Config;
use super::memory::Memory;
use super::table::Table;
use crate::relay::Statistics;
use crate::relay::element::Front;
use crate::wire::negotiate::response;
use crate::wire::{Channel, Command, Dialect, NtStatus};

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

/// What the server's answers have said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The dialect of the last answer to NEGOTIATE (2.2.4).
    pub(super) dialect: Option<Dialect>,
    /// A SESSION_SETUP was successful (3.3.5.5.3). Its last answer is never encrypted.
    pub(super) has_session: bool,
}

impl Seen {
    /// An answer, by its first bytes.
    pub(super) fn look(&mut self, header: &Front, element: &[u8]) {
        if !header.is_response() || header.status != NtStatus::SUCCESS {
            return;
        }
        if header.command == Command::SESSION_SETUP {
            self.has_session = true;
        } else if header.command == Command::NEGOTIATE {
            self.dialect = response::DIALECT_REVISION.get(element).ok().or(self.dialect);
        }
    }
}
