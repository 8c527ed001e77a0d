//! What a connection tells its upper layer.

use core::ops::Range;
use core::time::Duration;

use crate::error::{Aborted, CloseReason, ConnectError, OpError, ProbeError, RegistrationError};
use crate::{MsgId, OpId, RecvId, RegId, Token};

/// What a connection tells its upper layer. Each command ends in exactly one of these.
///
/// To be matched whole: a fragment in an event that is dropped is a receive buffer lost.
#[derive(Debug)]
#[must_use = "a fragment in a lost event is a receive buffer lost"]
pub enum Event {
    /// Negotiation succeeded (3.1.5.6, 3.1.5.7): commands are taken from now on.
    Established(Negotiated),
    /// The connection did not reach `Established`; nothing but `Drained` follows.
    ConnectFailed(ConnectError),
    /// A piece of an upper-layer message arrived. Messages arrive in order, their fragments in order and unbroken.
    Data(Fragment),
    /// The peer invalidated a token of a local registration with the message whose data follow, or with an empty one.
    /// The upper layer still deregisters.
    Invalidated {
        /// The registration the token belongs to.
        id: RegId,
        /// The token.
        token: Token,
    },
    /// Result of `send`. After `Ok` the message's buffer is free; after an error the device may have it until `Drained`.
    Sent {
        /// The message.
        msg: MsgId,
        /// `Ok` when all its fragments were sent; not a promise that the peer has them.
        result: Result<(), Aborted>,
    },
    /// Result of `rdma`. After `Ok` the local buffer is free; after an error the device may have it until `Drained`.
    RdmaDone {
        /// The operation.
        op: OpId,
        /// `Ok` when all bytes are where they should be (RDMA Read) or left here (RDMA Write).
        result: Result<(), OpError>,
    },
    /// Result of `register`. If it was aborted, the device may have the memory until `Drained`. [`Connection::segments`](crate::Connection::segments) has what to tell the peer.
    Registered {
        /// The registration; gone if the result is an error.
        id: RegId,
        /// Whether it is valid.
        result: Result<(), RegistrationError>,
    },
    /// Result of `deregister`. Only after `Ok`, or after `Drained`, may the memory be used for something else.
    Deregistered {
        /// The registration; still valid if the result is a failure of the provider.
        id: RegId,
        /// Whether all access has ended.
        result: Result<(), RegistrationError>,
    },
    /// Result of `probe`: the time from the flagged message's leaving to the next message of the peer.
    Probed(Result<Duration, ProbeError>),
    /// After a `send` or `rdma` was refused with `NoRoom`: there is room again.
    Writable,
    /// An established connection ended. Results of all commands came before; only `Drained` follows.
    Closed(CloseReason),
    /// Nothing is posted, borrowed or expected any more: buffers and registered memory may be freed. The last event.
    Drained,
}

/// What the two sides settled on (3.1.4.7 and what it builds on).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// Connection.Protocol.
    pub protocol: u16,
    /// Connection.MaxSendSize: longest message sent, header included, in bytes.
    pub max_send_size: u32,
    /// Connection.MaxReceiveSize: longest message taken, header included, in bytes.
    pub max_receive_size: u32,
    /// Connection.MaxFragmentedSendSize: longest upper-layer message the peer takes, in bytes.
    pub max_fragmented_send_size: u32,
    /// Connection.MaxFragmentedRecvSize: longest upper-layer message taken, in bytes.
    pub max_fragmented_recv_size: u32,
    /// Connection.MaxReadWriteSize: longest RDMA operation in bytes; 0 means the peer offers none.
    pub max_read_write_size: u32,
    /// Connection.KeepaliveInterval; `None` if keepalive is switched off.
    pub keepalive_interval: Option<Duration>,
}

/// A received piece of an upper-layer message, still in the receive buffer of `recv`.
///
/// It is owned: give it back with [`Connection::release`](crate::Connection::release), without waiting for anything else
/// this connection does. Until then its receive buffer is not posted again and `Drained` does not come.
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

    /// The same again, for a search that tries several futures of a cloned connection: each clone takes one of them back.
    #[cfg(feature = "search")]
    pub const fn duplicate(&self) -> Self {
        Self { ..*self }
    }

    /// Where in that buffer they are. Never empty, always inside the received message.
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

    /// Never: empty messages do not become fragments.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Bytes of the message still to come after this fragment.
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
