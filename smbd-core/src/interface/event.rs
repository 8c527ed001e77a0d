//! Events: what a connection reports to its upper layer.

use core::ops::Range;
use core::time::Duration;

use crate::error::{Aborted, CloseReason, ConnectError, OpError, ProbeError, RegistrationError};
use crate::{MsgId, OpId, RecvId, RegId, Token};

/// What a connection reports to its upper layer. Each command except `release` ends in exactly one result event.
///
/// Match all events: the receive buffer of a fragment in a dropped event is never posted again.
#[derive(Debug)]
#[must_use = "a fragment in a lost event is a receive buffer lost"]
pub enum Event {
    /// Negotiation succeeded (3.1.5.6, 3.1.5.7). Commands are possible from now on.
    Established(Negotiated),
    /// The connection failed before `Established`. Only `Drained` follows.
    ConnectFailed(ConnectError),
    /// A fragment of an upper-layer message arrived (3.1.5.8). Messages arrive in order, and the fragments of a message
    /// in order and without others between them.
    Data(Fragment),
    /// The peer invalidated a token of a local registration, with the message whose data comes next or with one without
    /// data. The upper layer still has to deregister.
    Invalidated {
        /// The registration the token belongs to.
        id: RegId,
        /// The token.
        token: Token,
    },
    /// Result of `send`. After `Ok` the buffer of the message is free; after an error the device may use it until
    /// `Drained`.
    Sent {
        /// The message.
        msg: MsgId,
        /// `Ok`: all its fragments were sent. It does not mean that the peer has received them.
        result: Result<(), Aborted>,
    },
    /// Result of `rdma`. After `Ok` the local buffer is free; after an error the device may use it until `Drained`.
    RdmaDone {
        /// The operation.
        op: OpId,
        /// `Ok`: all bytes are in the local buffer (RDMA Read), or have left it (RDMA Write).
        result: Result<(), OpError>,
    },
    /// Result of `register`. After `Ok`, [`Connection::live_segments`](crate::Connection::live_segments) returns the
    /// descriptors for the peer. After [`Aborted`] the device may use the memory until `Drained`.
    Registered {
        /// The registration. The id is not valid any more if the result is an error.
        id: RegId,
        /// Whether it is valid.
        result: Result<(), RegistrationError>,
    },
    /// Result of `deregister`. The memory may be used for something else only after `Ok` or `Drained`.
    Deregistered {
        /// The registration. It is still valid if the provider failed to end it.
        id: RegId,
        /// Whether all remote access has ended.
        result: Result<(), RegistrationError>,
    },
    /// Result of `probe`: the time from the probe to the next message of the peer.
    Probed(Result<Duration, ProbeError>),
    /// There is room again, after a `send` or `rdma` was refused with `NoRoom`.
    Writable,
    /// An established connection ended. The results of all commands come before it; only `Drained` follows.
    Closed(CloseReason),
    /// The last event: nothing is posted, borrowed or registered any more, and the transport connection has ended.
    /// Buffers and registered memory may be freed.
    Drained,
}

/// The negotiated values of a connection: those of 3.1.4.7, and those that they are derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// Connection.Protocol: the version, 0x0100.
    pub protocol: u16,
    /// Connection.MaxSendSize: longest message that is sent, header included, in bytes.
    pub max_send_size: u32,
    /// Connection.MaxReceiveSize: longest message that is received, header included, in bytes.
    pub max_receive_size: u32,
    /// Connection.MaxFragmentedSendSize: longest upper-layer message that the peer receives, in bytes.
    pub max_fragmented_send_size: u32,
    /// Connection.MaxFragmentedRecvSize: longest upper-layer message that is received, in bytes.
    pub max_fragmented_recv_size: u32,
    /// Connection.MaxReadWriteSize: longest RDMA operation in bytes. 0: no RDMA operation is possible.
    pub max_read_write_size: u32,
    /// Connection.KeepaliveInterval; `None` without keepalive.
    pub keepalive_interval: Option<Duration>,
}

/// A received fragment of an upper-layer message, still in its receive buffer.
///
/// Return it with [`Connection::release`](crate::Connection::release), without waiting for another event of this
/// connection. Until then its receive buffer is not posted again, and `Drained` does not come.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a fragment that is not released is a receive buffer lost"]
pub struct Fragment {
    pub(crate) recv: RecvId,
    pub(crate) offset: u32,
    pub(crate) len: u32,
    pub(crate) remaining: u32,
    pub(crate) first: bool,
}

impl Fragment {
    /// The receive whose buffer holds the bytes.
    #[must_use]
    pub const fn recv(&self) -> RecvId {
        self.recv
    }

    /// A copy of the fragment, for a search that clones connections: each clone has to release its own. With feature
    /// `search`.
    #[cfg(feature = "search")]
    pub const fn duplicate(&self) -> Self {
        Self { ..*self }
    }

    /// The range of the bytes in that buffer. Never empty, always inside the received message.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let len = usize::try_from(self.len).unwrap_or(usize::MAX);
        start..start.saturating_add(len)
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Always `false`: messages without data do not become fragments.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Bytes of the message that follow this fragment.
    #[must_use]
    pub const fn remaining(&self) -> u32 {
        self.remaining
    }

    /// Whether a message begins here.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.first
    }

    /// Whether the message ends here.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.remaining == 0
    }
}
