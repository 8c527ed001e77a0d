use smbd_core::{Budget, Limits, Token};

/// Which family of devices is imitated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Personality {
    /// Acknowledged by the peer's device: a send without a receive is refused (retry count 0), a queue pair is not
    /// flushed by the peer's disconnect.
    Roce,
    /// On a byte stream: a send is complete when handed over, whatever breaks a rule ends the stream at once.
    Iwarp,
}

/// What a device is capable of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicConfig {
    /// Its family.
    pub personality: Personality,
    /// Work requests of the send queue.
    pub send_queue: u32,
    /// Work requests of the receive queue.
    pub recv_queue: u32,
    /// Entries of the completion queue for the send queue.
    pub send_cq: u32,
    /// Entries of the completion queue for the receive queue.
    pub recv_cq: u32,
    /// Receive buffers.
    pub recv_slots: u32,
    /// Bytes of each of them.
    pub recv_buffer_len: u32,
    /// RDMA Reads it can serve and ask for at the same time.
    pub read_depth: u16,
    /// Longest RDMA request in bytes.
    pub rdma_len_max: u32,
    /// Registers with memory windows (one work request for each segment) instead of plain registrations.
    pub windows: bool,
    /// Can send with invalidate.
    pub send_with_invalidate: bool,
    /// Longest segment of a registration in bytes.
    pub segment_len_max: u32,
    /// Keeps and moves real bytes; without, only lengths.
    pub content: bool,
    /// The first token it gives out.
    pub first_token: Token,
    /// Its queue pair is destroyed when it is disconnected: what was posted is gone, and no completion says so.
    pub loses_flushes: bool,
    /// Its backend asks for a completion with each send of at least so many bytes, needed or not.
    pub signal_from: u32,
}

impl NicConfig {
    /// A device that provides exactly what a connection of this budget needs.
    #[must_use]
    pub const fn of(personality: Personality, budget: &Budget) -> Self {
        Self {
            personality,
            send_queue: budget.send_queue,
            recv_queue: budget.recv_queue,
            send_cq: budget.send_queue,
            recv_cq: budget.recv_queue,
            recv_slots: budget.recv_slots,
            recv_buffer_len: budget.recv_buffer_len,
            read_depth: 16,
            rdma_len_max: 1 << 30,
            windows: true,
            send_with_invalidate: true,
            segment_len_max: u32::MAX,
            content: true,
            first_token: Token(0x1A00_BC56),
            loses_flushes: false,
            signal_from: u32::MAX,
        }
    }

    /// What the connection is told, the read depth settled with a peer that has `peer_read_depth`.
    #[must_use]
    pub fn limits(&self, peer_read_depth: u16) -> Limits {
        Limits {
            read_depth: self.read_depth.min(peer_read_depth),
            send_queue: u16::try_from(self.send_queue).unwrap_or(u16::MAX),
            rdma_len_max: self.rdma_len_max,
            registration_requests: u16::from(self.windows),
            send_with_invalidate: self.send_with_invalidate,
            reads_in_order: self.personality == Personality::Roce,
        }
    }
}
