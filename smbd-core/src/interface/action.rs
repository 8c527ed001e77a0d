//! Actions: what a connection requests from its backend.

use core::fmt;

use crate::{BufferDescriptorV1, Event, Instant, MsgId, OpId, RdmaId, RecvId, RegId, SendId, Token};

/// One operation for the backend, or an event `E` for the upper layer. Actions are executed in the order polled.
#[derive(Debug)]
#[must_use = "an action that is not executed is lost, and its id never completes"]
pub enum Action<E = Event> {
    /// Start the transport connection (3.1.4.1). Answer: `Connected` or `ConnectFailed`.
    Connect,
    /// Accept the transport connection (3.1.7.2). Answer: `Connected` or `ConnectFailed`.
    Accept,
    /// End the transport connection, also if it never came up or is lost already, and complete everything that is
    /// posted (flushed). Polled at most once. Answer: `Disconnected`, unless that or `ConnectFailed` was reported.
    Disconnect,
    /// Post a receive.
    PostRecv {
        /// Its id.
        id: RecvId,
        /// Bytes the buffer must have: 512 for the negotiation, then MaxReceiveSize.
        len: u32,
    },
    /// Post a send: `head`, then `body` if there is one, as one message.
    PostSend {
        /// Its id.
        id: SendId,
        /// The header, with its padding where a body follows.
        head: Head,
        /// Which bytes of which upper-layer message follow the header.
        body: Option<Body>,
        /// The peer's token to invalidate with this message (2.2.3.1 Token). Only if
        /// [`Limits::send_with_invalidate`](crate::Limits) allows it.
        invalidate: Option<Token>,
        /// Whether the send is signalled. If not, the backend derives its completion from a later one.
        signal: bool,
        /// Whether the send requests a solicited event at the peer.
        solicit: bool,
    },
    /// Post one RDMA request: one work request with one scatter/gather element.
    PostRdma {
        /// Its id.
        id: RdmaId,
        /// The operation that it is a slice of. It identifies the local buffer.
        op: OpId,
        /// Read or write, as this side posts it.
        verb: RdmaVerb,
        /// Where in the operation's local buffer the slice begins, in bytes.
        local_offset: u32,
        /// The peer's memory: exactly the slice, whose length in bytes is that of the descriptor.
        remote: BufferDescriptorV1,
        /// Whether the request is signalled; a Read always is. If not, the backend derives its completion from a later one.
        signal: bool,
    },
    /// Enable remote access to the buffer of a registration (3.1.4.3): exactly these rights, on this connection only.
    Register {
        /// Its id.
        id: RegId,
        /// The rights of the peer, no more and no less.
        access: Access,
        /// Most segments that `Registered` may report.
        segments_max: u16,
    },
    /// End remote access to a registration (3.1.4.4). The peer has invalidated the tokens that
    /// [`Connection::live_segments`](crate::Connection::live_segments) no longer lists: they must not be invalidated
    /// again.
    Deregister {
        /// Its id.
        id: RegId,
    },
    /// Deliver the event to the upper layer.
    Notify(E),
    /// Nothing to do until the next input. At the deadline, if there is one, give
    /// [`Input::Timeout`](crate::Input::Timeout). Ends the drain loop.
    Wait(Option<Instant>),
}

#[cfg(feature = "endpoint")]
impl<E> Action<E> {
    /// The event apart from everything else.
    pub(crate) fn split<F>(self) -> Result<Action<F>, E> {
        Ok(match self {
            Self::Connect => Action::Connect,
            Self::Accept => Action::Accept,
            Self::Disconnect => Action::Disconnect,
            Self::PostRecv { id, len } => Action::PostRecv { id, len },
            Self::PostSend { id, head, body, invalidate, signal, solicit } => {
                Action::PostSend { id, head, body, invalidate, signal, solicit }
            }
            Self::PostRdma { id, op, verb, local_offset, remote, signal } => {
                Action::PostRdma { id, op, verb, local_offset, remote, signal }
            }
            Self::Register { id, access, segments_max } => Action::Register { id, access, segments_max },
            Self::Deregister { id } => Action::Deregister { id },
            Self::Wait(deadline) => Action::Wait(deadline),
            Self::Notify(event) => return Err(event),
        })
    }
}

/// Direction of an RDMA operation, as the side that posts it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RdmaVerb {
    /// RDMA Read: from the peer's memory into the local buffer (3.1.4.6).
    Read,
    /// RDMA Write: from the local buffer into the peer's memory (3.1.4.5).
    Write,
}

/// Rights that a registration gives to the peer (3.1.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// The peer may read.
    Read,
    /// The peer may write.
    Write,
    /// The peer may read and write. SMB2 never needs it.
    ReadWrite,
}

impl Access {
    /// Whether the peer may read.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether the peer may write.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// A range of an upper-layer message that one send carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// The message.
    pub msg: MsgId,
    /// Where the range begins, in bytes.
    pub offset: u32,
    /// Its length in bytes, at least 1.
    pub len: u32,
}

/// The first bytes of a message, at most 32. The core sees no other byte of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Head {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Head {
    /// Longest head in bytes: that of the Negotiate Response (2.2.2).
    pub const MAX: usize = 32;
    pub(crate) const MAX_LEN: u32 = 32;

    /// The first 32 bytes of `message`, or all of it if it is shorter.
    #[must_use]
    #[inline]
    pub fn of(message: &[u8]) -> Self {
        match message.first_chunk::<{ Self::MAX }>() {
            Some(first) => Self { bytes: *first, len: 32 },
            None => Self::of_short(message),
        }
    }

    #[cold]
    #[inline(never)]
    fn of_short(message: &[u8]) -> Self {
        let mut head = Self { bytes: [0; Self::MAX], len: 0 };
        for (to, from) in head.bytes.iter_mut().zip(message) {
            *to = *from;
            head.len = head.len.saturating_add(1);
        }
        head
    }

    /// A head of `len` bytes written by `encode`, which gets all 32.
    pub(crate) fn written<E>(encode: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Self {
        let mut bytes = [0; Self::MAX];
        let len = encode(&mut bytes).map_or(0, |len| u8::try_from(len).unwrap_or(0));
        Self { bytes, len }
    }

    /// The bytes.
    #[must_use]
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The bytes, and zeros behind them.
    pub(crate) const fn as_array(&self) -> &[u8; Self::MAX] {
        &self.bytes
    }

    /// Number of bytes, at most 32.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len as u32
    }

    /// Whether the head has no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}
