use super::Config;
use super::params::NEGOTIATE_RECEIVE_SIZE;
use crate::Head;

/// What a connection of a configuration needs: slots, buffers and queues of its backend, and memory of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Budget {
    /// Receives posted or borrowed at the same time: `receive_credit_max`, one in reserve (CR-5), `borrowed_max`.
    /// [`RecvId::slot`](crate::RecvId::slot) is below this.
    pub recv_slots: u32,
    /// Bytes of one receive buffer: MaxReceiveSize, but at least the 512 of the negotiation.
    pub recv_buffer_len: u32,
    /// Bytes of all receive buffers.
    pub recv_bytes: u64,
    /// Sends posted at the same time. [`SendId::slot`](crate::SendId::slot) is below this.
    pub send_slots: u32,
    /// Bytes for the headers of those sends, 32 for each.
    pub send_head_bytes: u64,
    /// Bytes of one whole message to send, for a backend that copies payload: MaxSendSize, but at least a head.
    pub send_buffer_len: u32,
    /// RDMA requests posted at the same time. [`RdmaId::slot`](crate::RdmaId::slot) is below this.
    pub rdma_slots: u32,
    /// RDMA Reads outstanding at the same time, to request from the transport for each direction (`initiator_depth` and
    /// `responder_resources` of rdma_cm). The transport reports the result in [`Limits::read_depth`](crate::Limits).
    pub read_depth: u16,
    /// RDMA operations at the same time. [`OpId::slot`](crate::OpId::slot) is below this.
    pub rdma_ops: u32,
    /// Registrations at the same time. [`RegId::slot`](crate::RegId::slot) is below this.
    pub registrations: u32,
    /// Depth of the receive queue, in work requests.
    pub recv_queue: u32,
    /// Depth of the send queue, in work requests: sends, RDMA requests, window binds and invalidations.
    pub send_queue: u32,
    /// Entries of the completion queue: all posted work can be flushed at once, signalled or not.
    pub cq_entries: u32,
    /// Bytes of memory of the [`Connection`](crate::Connection) and its tables, which it allocates when it is created.
    pub core_bytes: u64,
}

impl Config {
    /// Work requests that the send queue has to hold.
    pub(crate) fn send_queue(&self) -> u32 {
        let [send, rdma, registration] =
            [self.send_slots, self.rdma_slots, self.registration_slots].map(u32::from);
        send.saturating_add(rdma).saturating_add(registration)
    }

    /// What a backend has to provide for a connection of this configuration.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let [recv, one, borrowed] = [self.receive_credit_max, 1, self.borrowed_max].map(u32::from);
        let [send, rdma] = [self.send_slots, self.rdma_slots].map(u32::from);
        let recv_slots = recv.saturating_add(one).saturating_add(borrowed);
        let recv_queue = recv.saturating_add(one);
        let send_queue = self.send_queue();
        let recv_buffer_len = self.max_receive_size.max(NEGOTIATE_RECEIVE_SIZE);
        Budget {
            recv_slots,
            recv_buffer_len,
            recv_bytes: u64::from(recv_slots).saturating_mul(u64::from(recv_buffer_len)),
            send_slots: send,
            send_head_bytes: u64::from(send).saturating_mul(u64::from(Head::MAX_LEN)),
            send_buffer_len: self.max_send_size.max(Head::MAX_LEN),
            rdma_slots: rdma,
            read_depth: self.read_depth,
            rdma_ops: u32::from(self.rdma_ops),
            registrations: u32::from(self.registrations),
            recv_queue,
            send_queue,
            cq_entries: recv_queue.saturating_add(send_queue),
            core_bytes: self.core_bytes(),
        }
    }
}
