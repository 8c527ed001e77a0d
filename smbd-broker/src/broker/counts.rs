//! What has passed.

use std::ops::AddAssign;

use crate::wire::Direction;

/// What has passed on a connection, or on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Messages of clients.
    pub messages_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Messages to clients, which the transport has taken.
    pub messages_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// Transfers that went well.
    pub transfers: u64,
    /// Transfers that failed.
    pub transfers_failed: u64,
    /// Bytes that RDMA Reads have brought from clients.
    pub rdma_in: u64,
    /// Bytes that RDMA Writes have brought to clients.
    pub rdma_out: u64,
}

impl Counts {
    pub(super) fn received(&mut self, len: usize) {
        self.messages_in = self.messages_in.saturating_add(1);
        self.bytes_in = self.bytes_in.saturating_add(len as u64);
    }

    pub(super) fn sent(&mut self, len: u32) {
        self.messages_out = self.messages_out.saturating_add(1);
        self.bytes_out = self.bytes_out.saturating_add(len.into());
    }

    pub(super) fn transferred(&mut self, direction: Direction, len: u64, is_success: bool) {
        if !is_success {
            self.transfers_failed = self.transfers_failed.saturating_add(1);
            return;
        }
        self.transfers = self.transfers.saturating_add(1);
        let bytes = match direction {
            Direction::Read => &mut self.rdma_in,
            Direction::Write => &mut self.rdma_out,
        };
        *bytes = bytes.saturating_add(len);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for (own, more) in [
            (&mut self.messages_in, other.messages_in),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.messages_out, other.messages_out),
            (&mut self.bytes_out, other.bytes_out),
            (&mut self.transfers, other.transfers),
            (&mut self.transfers_failed, other.transfers_failed),
            (&mut self.rdma_in, other.rdma_in),
            (&mut self.rdma_out, other.rdma_out),
        ] {
            *own = own.saturating_add(more);
        }
    }
}
