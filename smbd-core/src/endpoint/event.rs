use core::time::Duration;

use bytes::Bytes;

use crate::backend::{ReceiveMemory, ShortReceive};
use crate::error::{Aborted, CloseReason, ConnectError, OpError, ProbeError, RegistrationError};
use crate::{Fragment, MsgId, Negotiated, OpId, RegId, Token};

/// As [`Event`](crate::Event), with whole messages and their bytes.
#[derive(Debug)]
#[must_use = "a fragment in a lost event is a receive buffer lost"]
pub enum EndpointEvent {
    /// As [`Event::Established`](crate::Event::Established).
    Established(Negotiated),
    /// As [`Event::ConnectFailed`](crate::Event::ConnectFailed).
    ConnectFailed(ConnectError),
    /// A message arrived. Messages come in the order they were sent.
    Message(Message),
    /// As [`Event::Invalidated`](crate::Event::Invalidated). Comes before the message that did it, if that carries data:
    /// once for each token, as each fragment may have one.
    Invalidated {
        /// The registration the token belongs to.
        id: RegId,
        /// The token.
        token: Token,
    },
    /// As [`Event::Sent`](crate::Event::Sent).
    Sent {
        /// The message.
        msg: MsgId,
        /// Its bytes, given back.
        payload: Bytes,
        /// `Ok` when all its fragments were sent; not a promise that the peer has them.
        result: Result<(), Aborted>,
    },
    /// As [`Event::RdmaDone`](crate::Event::RdmaDone).
    RdmaDone {
        /// The operation.
        op: OpId,
        /// Whether it succeeded.
        result: Result<(), OpError>,
    },
    /// As [`Event::Registered`](crate::Event::Registered).
    Registered {
        /// The registration; gone if the result is an error.
        id: RegId,
        /// Whether it is valid.
        result: Result<(), RegistrationError>,
    },
    /// As [`Event::Deregistered`](crate::Event::Deregistered).
    Deregistered {
        /// The registration.
        id: RegId,
        /// Whether all access has ended.
        result: Result<(), RegistrationError>,
    },
    /// As [`Event::Probed`](crate::Event::Probed).
    Probed(Result<Duration, ProbeError>),
    /// As [`Event::Writable`](crate::Event::Writable).
    Writable,
    /// As [`Event::Closed`](crate::Event::Closed). A message that had not arrived in full is lost.
    Closed(CloseReason),
    /// As [`Event::Drained`](crate::Event::Drained).
    Drained,
}

/// An upper-layer message that arrived. Never empty.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a borrowed message that is not released is a receive buffer lost"]
pub enum Message {
    /// Copied; nothing to give back. Shares its memory with messages copied before and after it.
    Owned(Bytes),
    /// Still in its receive buffer: read it there, then give it back with
    /// [`Endpoint::release`](crate::Endpoint::release).
    Borrowed(Fragment),
}

impl Message {
    /// The bytes, wherever they are.
    ///
    /// # Errors
    /// They are not in `memory`.
    pub fn bytes<'a>(&'a self, memory: &'a (impl ReceiveMemory + ?Sized)) -> Result<&'a [u8], ShortReceive> {
        match self {
            Self::Owned(bytes) => Ok(bytes),
            Self::Borrowed(fragment) => memory.fragment(fragment),
        }
    }
}

/// Counters of an endpoint, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Messages handed up without a copy.
    pub messages_borrowed: u64,
    /// Messages handed up as a copy.
    pub messages_copied: u64,
    /// Bytes copied out of receive buffers: each byte once.
    pub bytes_copied: u64,
    /// Bytes copied again because the reassembly buffer had to grow.
    pub bytes_moved: u64,
}
