//! All choices of a run the other way round. Configurations, devices, faults, the stream and times are as of any run of its seed.

use std::rc::Rc;

use smbd_sim::swarm::FaultKind;
use smbd_smb2::relay::reverse;
use smbd_smb2::wire::Dialect;

use crate::plan;
use smbd_testkit::Chance;
use smbd_testkit::relay::reverse::{Lie, Limits};

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client ends its stream when everything is answered.
    Quiet,
    /// The client ends its stream in the middle.
    ClientFinishes,
    /// The client's stream is torn down.
    ClientResets,
    /// The server closes in the middle, in order.
    ServerCloses,
    /// The server's connection breaks off.
    ServerAborts,
    /// The server says what it cannot.
    Lie(Lie),
    /// A READ comes with a channel, signed or not.
    Channel(bool),
    /// A signed WRITE is too long.
    TooLong,
    /// The client's next message has no length.
    Framing,
    /// The server answers no SESSION_SETUP.
    NoSession,
    /// The gateway is told to stop.
    Stop,
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// What both ways have in common.
    pub common: Rc<plan::Plan>,
    pub params: reverse::Params,
    pub dialect: Dialect,
    pub is_honest: bool,
    /// The gateway receives fragments as they arrive; its program receives whole messages.
    pub is_in_pieces: bool,
    pub end: End,
}

/// Tells the plan's stream of chance from others of the seed.
const SALT: u64 = 0x7265_7665_7273_6500;

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut common = plan::Plan::of(seed);
        let mut chance = Chance::new(seed ^ SALT);
        let chance = &mut chance;
        let [initiator, acceptor] = &mut common.sim.nics;
        if !chance.one_in(4) {
            // Otherwise the gateway may have to give up: it registers no memory in pieces.
            initiator.segment_len_max = u32::MAX;
        }
        // A client that waits for credits cancels and cancels; one byte at a time that takes for ever.
        common.stream.capacity = common.stream.capacity.max(16);
        let remote_invalidation = initiator.windows && acceptor.send_with_invalidate && chance.one_in(2);
        let held_max = chance.pick(&[256, 1024]);
        let buffer_len = chance.pick(&[64, 500, 1024, 4096]);
        let params = reverse::Params {
            budget: held_max + buffer_len * chance.size(1, 40) as u32,
            buffer_len,
            held_max,
            threshold: chance.pick(&[1, 50, 200]),
            max_read_write_size: chance.pick(&[700, 6000]),
            max_fragmented_send_size: chance.pick(&[512, 1024, 4096]),
            max_fragmented_recv_size: chance.pick(&[512, 1024, 4096]),
            remote_invalidation,
        };
        let end = match chance.below(32) {
            0 | 1 => End::ClientFinishes,
            2 | 3 => End::ClientResets,
            4 | 5 => End::ServerCloses,
            6 | 7 => End::ServerAborts,
            8..=10 => End::Lie(chance.pick(&[Lie::TooMuch, Lie::Twice, Lie::Signed])),
            11 => End::Channel(chance.one_in(2)),
            12 => End::TooLong,
            13 => End::Framing,
            14 => End::NoSession,
            15..=17 => End::Stop,
            _ => End::Quiet,
        };
        let old = [Dialect::SMB_2_1, Dialect::SMB_3_0];
        let dialect = if chance.one_in(4) { chance.pick(&old) } else { Dialect::SMB_3_1_1 };
        let (is_honest, is_in_pieces) = (!chance.one_in(3), chance.one_in(2));
        Self { common: Rc::new(common), params, dialect, is_honest, is_in_pieces, end }
    }

    /// What the models know of the gateway.
    pub fn limits(&self, config: &reverse::Config) -> Limits {
        let Self { params, dialect, .. } = self;
        let info = (params.max_fragmented_send_size as usize - 112) / 16;
        let buffers = usize::from(config.buffers()).min(info);
        Limits {
            sends: params.max_fragmented_send_size as usize,
            receives: params.max_fragmented_recv_size as usize,
            held: params.held_max as usize,
            threshold: params.threshold as usize,
            rdma: (buffers * params.buffer_len as usize).min(params.max_read_write_size as usize),
            dialect: *dialect,
            remote_invalidation: params.remote_invalidation,
        }
    }

    /// Whether a registration may fail, or comes in pieces.
    pub fn may_lack_memory(&self) -> bool {
        let [nic, _] = &self.common.sim.nics;
        let has_fault = |kind| self.common.sim.rounds.iter().flatten().any(|fault| fault.kind == kind);
        nic.segment_len_max < self.params.buffer_len || has_fault(FaultKind::FailedRegistration)
    }
}
