//! Parameters of known implementations, and the sources of their numbers.

use core::time::Duration;

use super::{Keepalive, Params};

const MIB: u32 = 1 << 20;
const SPECIFIED_KEEPALIVE: Keepalive =
    Keepalive { interval: Duration::from_secs(120), answer_timeout: Duration::from_secs(5) };

/// [`Params::windows`].
impl Default for Params {
    fn default() -> Self {
        Self::windows()
    }
}

impl Params {
    /// Windows Server 2012 R2 and later: notes <1>, <2>, <3>, <6>, <7> of section 7. Microsoft's own tests of the
    /// server assert its send credit timer of 5 s.
    #[must_use]
    pub const fn windows() -> Self {
        Self {
            receive_credit_max: 255,
            send_credit_target: 255,
            max_send_size: 1364,
            large_sends: false,
            max_receive_size: 8192,
            max_fragmented_recv_size: MIB,
            max_read_write_size: 8 * MIB,
            keepalive: Some(SPECIFIED_KEEPALIVE),
            active_negotiation_timeout: Duration::from_secs(120),
            passive_negotiation_timeout: Duration::from_secs(5),
            send_credit_timeout: Some(Duration::from_secs(5)),
            borrowed_max: 32,
            message_slots: 256,
            send_slots: 255,
            rdma_ops: 64,
            rdma_slots: 64,
            read_depth: 16,
            registrations: 64,
            segments_max: 256,
            registration_slots: 64,
            strict: false,
            solicit: false,
            reject_version_range: false,
            reject_preferred_send_size_above: None,
        }
    }

    /// cifs.ko of Linux 6.12: messages of 1364 bytes in both directions, and a MaxFragmentedRecvSize of half the bytes
    /// that its 255 receives hold. Its peer should not send keepalive probes: cifs.ko answers one with its next message
    /// at best, and may end the connection instead. [`linux_server`](Self::linux_server) sends none.
    #[must_use]
    pub const fn linux_client() -> Self {
        Self {
            max_receive_size: 1364,
            max_fragmented_recv_size: LINUX_FRAGMENTED,
            passive_negotiation_timeout: Duration::from_secs(120),
            send_credit_timeout: Some(Duration::from_secs(125)),
            ..Self::windows()
        }
    }

    /// ksmbd of Linux 6.12: the sizes of [`linux_client`](Self::linux_client), no keepalive, no send credit timer, and
    /// a negotiation timer of 120 s instead of 5 s for the acceptor.
    #[must_use]
    pub const fn linux_server() -> Self {
        Self { keepalive: None, send_credit_timeout: None, ..Self::linux_client() }
    }

    /// The values of the specification's examples (section 4): 10 credits, messages of 1 KiB, upper-layer messages of
    /// 128 KiB.
    #[must_use]
    pub const fn example() -> Self {
        Self {
            receive_credit_max: 10,
            send_credit_target: 10,
            max_send_size: 1024,
            max_receive_size: 1024,
            max_fragmented_recv_size: 128 * 1024,
            max_read_write_size: MIB,
            send_credit_timeout: Some(Duration::from_secs(125)),
            borrowed_max: 2,
            message_slots: 16,
            send_slots: 16,
            rdma_ops: 4,
            rdma_slots: 4,
            read_depth: 4,
            registrations: 4,
            segments_max: 8,
            registration_slots: 8,
            ..Self::windows()
        }
    }
}

/// 255 receives of 1364 bytes, halved.
const LINUX_FRAGMENTED: u32 = 1364 * 255 / 2;
