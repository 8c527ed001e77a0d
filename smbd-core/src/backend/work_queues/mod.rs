//! Keeps the posted work requests, and turns completions of a device into one input for each id.

mod pair;
mod places;
mod queue;
#[cfg(test)]
mod tests;

pub use pair::WorkQueues;
pub use queue::WorkQueue;

use crate::{RdmaId, RecvId, RegId, SendId, WrId};

/// One work request. All except sends and RDMA requests are always signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A receive.
    Recv(RecvId),
    /// A send.
    Send {
        /// Its id.
        id: SendId,
        /// Whether the device reports its completion.
        signal: bool,
    },
    /// An RDMA Read or Write.
    Rdma {
        /// Its id.
        id: RdmaId,
        /// Whether the device reports its completion.
        signal: bool,
    },
    /// Binding one window of a registration.
    Bind(RegId),
    /// Invalidating one window of a registration.
    Invalidate(RegId),
}

/// The queues of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Receives.
    Recv,
    /// Everything else.
    Send,
}

impl Request {
    /// The id that it belongs to. [`WrId::to_raw`] makes it the `wr_id`.
    #[must_use]
    #[inline]
    pub const fn id(self) -> WrId {
        match self {
            Self::Recv(id) => WrId::Recv(id),
            Self::Send { id, .. } => WrId::Send(id),
            Self::Rdma { id, .. } => WrId::Rdma(id),
            Self::Bind(id) | Self::Invalidate(id) => WrId::Reg(id),
        }
    }

    /// The queue it goes to.
    #[must_use]
    #[inline]
    pub const fn queue(self) -> Queue {
        match self {
            Self::Recv(_) => Queue::Recv,
            Self::Send { .. } | Self::Rdma { .. } | Self::Bind(_) | Self::Invalidate(_) => Queue::Send,
        }
    }

    /// Whether a registration may have several such.
    #[inline]
    const fn is_one_of_several(self) -> bool {
        matches!(self, Self::Bind(_) | Self::Invalidate(_))
    }

    const fn is_unsignalled(self) -> bool {
        matches!(self, Self::Send { signal: false, .. } | Self::Rdma { signal: false, .. })
    }
}

/// What to do with a request that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a request is to be chained if and only if this says so"]
pub enum Push {
    /// Append it to the chain.
    Chain,
    /// The request was not recorded. Hand the chain of this queue over, report that with
    /// [`doorbell_rung`](WorkQueues::doorbell_rung), and push again.
    RingDoorbell(Queue),
    /// Do not post it: a post was refused, the queue is full, or everything was flushed. Its failure is recorded.
    Skip,
}
