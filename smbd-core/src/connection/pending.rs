use crate::MsgId;
use crate::table::Ring;
use crate::{Config, Token};

/// An event that has happened and was not polled yet, as small as can be: what is bigger stays in the slot it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    Established,
    Data { index: u16, offset: u32, len: u32, remaining: u32, first: bool },
    Invalidated { index: u16, token: Token },
    Sent { msg: MsgId, ok: bool },
    OpDone { index: u16 },
    Registered { index: u16 },
    Deregistered { index: u16 },
    Probed,
}

impl Pending {
    /// The same without names of slots, which say nothing about behaviour.
    pub(crate) const fn anonymous(mut self) -> Self {
        match &mut self {
            Self::Data { index, .. }
            | Self::Invalidated { index, .. }
            | Self::OpDone { index }
            | Self::Registered { index }
            | Self::Deregistered { index } => *index = 0,
            Self::Sent { msg, .. } => *msg = MsgId(0),
            Self::Established | Self::Probed => {}
        }
        self
    }
}

/// Events in the order they happened.
pub(crate) type PendingEvents = Ring<Pending>;

/// Room for every event that can happen before the next drain: events are handed out before any new work is, so there
/// is at most one for each piece of work, each command and each segment.
pub(crate) fn capacity(config: &Config) -> usize {
    let recv = [config.receive_credit_max, 1, config.borrowed_max];
    let work = [config.send_slots, config.rdma_ops, config.registrations, config.segments_max];
    // The connection's own: Established and Probed.
    recv.into_iter().chain(work).map(usize::from).fold(2, usize::saturating_add)
}
