//! How much memory a connection takes.

use super::Connection;
use super::pending::{self, Pending};
use super::rdma::Rdma;
use super::receive::RecvState;
use super::registration::Registrations;
use super::send::Sender;
use crate::Config;
use crate::table::Slots;

impl Config {
    /// The connection itself and all its tables.
    pub(crate) fn core_bytes(&self) -> u64 {
        let recv_slots =
            u64::from(self.receive_credit_max).saturating_add(1).saturating_add(self.borrowed_max.into());
        let events = u64::try_from(pending::capacity(self)).unwrap_or(u64::MAX);
        let terms = [
            (1, size_of::<Connection>() as u64),
            (recv_slots, Slots::<RecvState>::SLOT_BYTES),
            (events, size_of::<Pending>() as u64),
            (self.send_slots.into(), Sender::SLOT_BYTES),
            (self.message_slots.into(), Sender::MESSAGE_BYTES),
            (self.rdma_ops.into(), Rdma::OP_BYTES),
            (self.rdma_slots.into(), Rdma::REQUEST_BYTES),
            (self.registrations.into(), Registrations::SLOT_BYTES),
            (self.segments_max.into(), Registrations::SEGMENT_BYTES),
        ];
        terms
            .into_iter()
            .fold(0, |sum, (count, bytes): (u64, u64)| sum.saturating_add(count.saturating_mul(bytes)))
    }
}
