//! What a connection begins with.

use std::time::Duration;

use arbitrary::Arbitrary;
use smbd_core::{Config, Keepalive, Limits, Params};
use smbd_sim::Side;

/// Role, parameters, device, and where in its life the fuzzer takes over.
#[derive(Arbitrary, Clone, Debug)]
pub struct Setup {
    is_acceptor: bool,
    /// How much is done in good order before the fuzzer's first step.
    pub(super) start: Start,
    window: u8,
    target: u8,
    send_size: u16,
    receive_size: u16,
    fragmented: u8,
    read_write: u32,
    keepalive: Option<u8>,
    patience: Option<u8>,
    lend: u8,
    message_slots: u8,
    send_slots: u8,
    rdma_ops: u8,
    rdma_slots: u8,
    registrations: u8,
    segments: u8,
    registration_slots: u8,
    modes: u8,
    limits: AnyLimits,
}

/// How much is done in good order first.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing.
    Fresh,
    /// There is a transport connection.
    Connected,
    /// The negotiation is over.
    Negotiated {
        /// What the peer asks for and gives.
        asked: u8,
        granted: u8,
        receive_size: u16,
        read_write: u32,
    },
}

/// What a device allows.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct AnyLimits {
    read_depth: u8,
    send_queue: u8,
    rdma_len_max: u16,
    registration_requests: u8,
    send_with_invalidate: bool,
}

impl From<AnyLimits> for Limits {
    fn from(any: AnyLimits) -> Self {
        Self {
            read_depth: u16::from(any.read_depth % 8),
            send_queue: u16::from(any.send_queue).max(2),
            rdma_len_max: u32::from(any.rdma_len_max).max(1) * 8,
            registration_requests: u16::from(any.registration_requests % 4),
            send_with_invalidate: any.send_with_invalidate,
            reads_in_order: any.registration_requests >> 2 & 1 == 1,
        }
    }
}

impl Setup {
    pub(super) const fn side(&self) -> Side {
        if self.is_acceptor { Side::Acceptor } else { Side::Initiator }
    }

    /// Whether the results of messages are not waited for.
    pub(super) const fn is_unsignalled(&self) -> bool {
        self.modes >> 4 & 1 == 1
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits.into()
    }

    /// The configuration; `strict` overrules what the fuzzer chose.
    pub(super) fn config(&self, strict: Option<bool>) -> Config {
        let short = |n: u8, least: u16| u16::from(n % 24).max(least);
        let bit = |n: u8| self.modes >> n & 1 == 1;
        let params = Params {
            receive_credit_max: if self.window < 250 { short(self.window, 4) } else { 300 },
            send_credit_target: if self.target < 250 { short(self.target, 2) } else { 255 },
            max_send_size: u32::from(self.send_size % 8137).max(128),
            large_sends: false,
            max_receive_size: u32::from(self.receive_size).max(128),
            max_fragmented_recv_size: 131_072 + u32::from(self.fragmented),
            max_read_write_size: self.read_write,
            keepalive: self.keepalive.map(|n| Keepalive {
                interval: Duration::from_millis(u64::from(n) + 1),
                answer_timeout: Duration::from_millis(u64::from(n % 8) + 1),
            }),
            active_negotiation_timeout: Duration::from_millis(120),
            passive_negotiation_timeout: Duration::from_millis(5),
            send_credit_timeout: self.patience.map(|n| Duration::from_millis(u64::from(n) + 1)),
            borrowed_max: u16::from(self.lend % 8),
            message_slots: short(self.message_slots, 1),
            send_slots: short(self.send_slots, 2),
            rdma_ops: short(self.rdma_ops, 0),
            rdma_slots: short(self.rdma_slots, 1),
            read_depth: 8,
            registrations: short(self.registrations, 0),
            segments_max: short(self.segments, 1),
            registration_slots: short(self.registration_slots, 0),
            strict: strict.unwrap_or(bit(0)),
            solicit: bit(1),
            reject_version_range: bit(2),
            reject_preferred_send_size_above: bit(3).then_some(8136),
        };
        Config::try_from(params).expect("all values are in range")
    }
}
