//! What a backend reports to a connection.

use crate::error::{ConnectReason, DisconnectReason, WorkError};
use crate::{BufferDescriptorV1, Head, RdmaId, RecvId, RegId, SendId, Token, WrId};

/// Something that happened below the core.
///
/// Any order and any number of inputs between two drains is legal; the connection keeps its own records.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The transport connection is up: the answer to [`Action::Connect`](crate::Action::Connect) or
    /// [`Action::Accept`](crate::Action::Accept), once. May come after the first `Received` (section 2.7 of RoCE's
    /// connection management: a lost ready-to-use message), which is then handled before it.
    Connected {
        /// What device and connection settled on.
        limits: Limits,
    },
    /// The transport connection did not come up. Ends the connection; no `Disconnected` follows.
    ConnectFailed {
        /// Why.
        reason: ConnectReason,
    },
    /// The transport connection is gone: by the peer, by a fault, or as the answer to
    /// [`Action::Disconnect`](crate::Action::Disconnect). Reported once, with what ended it first.
    Disconnected {
        /// What the backend knows of why. [`PeerClosed`](DisconnectReason::PeerClosed) only if it was the peer, in order;
        /// [`Unknown`](DisconnectReason::Unknown) if it cannot tell.
        reason: DisconnectReason,
    },
    /// The deadline of the last [`Action::Wait`](crate::Action::Wait) has passed. Too early is legal and does nothing.
    Timeout,
    /// A posted receive took a message.
    Received {
        /// The receive.
        id: RecvId,
        /// The first bytes of the message: all of it up to 32 bytes.
        head: Head,
        /// Length of the whole message in bytes.
        len: u32,
        /// The local token which the RDMA provider says was invalidated by this message, as a plain number.
        invalidated: Option<Token>,
    },
    /// A posted send is complete: its buffers are free again. Says nothing about the peer (on iWARP the message may
    /// still be in a socket). Reported for every send, in posting order, also for those posted without `signal`.
    Sent {
        /// The send.
        id: SendId,
    },
    /// A posted RDMA request is complete.
    RdmaDone {
        /// The request.
        id: RdmaId,
    },
    /// A registration is valid. Segments may share a token; one invalidation then ends all that do.
    Registered {
        /// The registration.
        id: RegId,
        /// What the peer may address, in buffer order: 1 to as many as were reserved by the command.
        segments: &'a [BufferDescriptorV1],
        /// `true`: none of its work requests occupies the send queue any more. `false`: window binds are posted but
        /// not complete (queue order protects what is sent after them); [`BindComplete`](Self::BindComplete) will follow.
        bind_complete: bool,
    },
    /// The window binds of a registration reported with `bind_complete: false` are complete.
    BindComplete {
        /// The registration.
        id: RegId,
    },
    /// A deregistration is complete: no access by its tokens is possible any more (3.1.4.4), and no work request of
    /// it occupies the send queue.
    Deregistered {
        /// The registration.
        id: RegId,
    },
    /// Work failed: it was refused when posted, flushed, or completed with an error. A registration that failed gives
    /// the peer no access (3.1.4.3).
    Failed {
        /// The work.
        id: WrId,
        /// What went wrong.
        error: WorkError,
    },
}

/// What a device and a connection allow. May only lower what the configuration reserved
/// ([`Budget`](crate::Budget)); numbers above it are taken as the budget's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// RDMA Reads that this side may have outstanding, as negotiated by rdma_cm or the IRD/ORD header (section 6). 0:
    /// none.
    pub read_depth: u16,
    /// Work requests the send queue holds, at least 2.
    pub send_queue: u16,
    /// Longest RDMA request in bytes, at least 1.
    pub rdma_len_max: u32,
    /// Work requests that one segment puts on the send queue when it is registered, and again when it is
    /// deregistered: 0 for plain memory registration, 1 for memory windows.
    pub registration_requests: u16,
    /// Whether a send can invalidate a token at the peer. If not, sends leave without it (3.1.5.1: MAY be ignored).
    pub send_with_invalidate: bool,
    /// Whether the data of an RDMA Read are there when a work request behind it is complete, as on InfiniBand and RoCE, where requests
    /// complete in order. If not, as on iWARP, each Read is signalled.
    pub reads_in_order: bool,
}
