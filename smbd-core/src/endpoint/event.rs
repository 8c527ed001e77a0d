use core::fmt;
use core::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::backend::{ReceiveMemory, ShortReceive};
use crate::error::{Aborted, CloseReason, ConnectError, OpError, ProbeError, RegistrationError};
use crate::{Fragment, MsgId, Negotiated, OpId, RegId, Token};

/// What an endpoint reports to its upper layer: the events of [`Event`](crate::Event), with whole messages and their
/// bytes.
///
/// Match all events: the receive buffer of a borrowed message in a dropped event is never posted again. `Debug` shows
/// the length of payload, not its bytes.
#[must_use = "a fragment in a lost event is a receive buffer lost"]
pub enum EndpointEvent {
    /// As [`Event::Established`](crate::Event::Established).
    Established(Negotiated),
    /// As [`Event::ConnectFailed`](crate::Event::ConnectFailed).
    ConnectFailed(ConnectError),
    /// A message arrived. Messages arrive in the order in which they were sent.
    Message(Message),
    /// As [`Event::Invalidated`](crate::Event::Invalidated), once for each token. Comes before the message whose
    /// fragments invalidated the tokens, if they carry data.
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
        /// Its bytes.
        payload: Bytes,
        /// `Ok`: all its fragments were sent. It does not mean that the peer has received them.
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
        /// The registration. The id is not valid any more if the result is an error.
        id: RegId,
        /// Whether it is valid.
        result: Result<(), RegistrationError>,
    },
    /// As [`Event::Deregistered`](crate::Event::Deregistered).
    Deregistered {
        /// The registration.
        id: RegId,
        /// Whether all remote access has ended.
        result: Result<(), RegistrationError>,
    },
    /// As [`Event::Probed`](crate::Event::Probed).
    Probed(Result<Duration, ProbeError>),
    /// As [`Event::Writable`](crate::Event::Writable).
    Writable,
    /// As [`Event::Closed`](crate::Event::Closed). A message whose last fragment has not arrived is lost.
    Closed(CloseReason),
    /// As [`Event::Drained`](crate::Event::Drained).
    Drained,
}

/// A received upper-layer message, or a fragment of one if the endpoint is [in pieces](crate::Endpoint::in_pieces). Never empty.
#[derive(PartialEq, Eq)]
#[must_use = "a borrowed message that is not released is a receive buffer lost"]
pub enum Message {
    /// A copy; it needs no release. It shares its allocation with messages that were copied before and after it. Nobody else has its
    /// bytes: it may be decrypted in place.
    Owned(BytesMut),
    /// Still in its receive buffer. Read it there, then return it with [`Endpoint::release`](crate::Endpoint::release).
    Borrowed(Fragment),
}

impl Message {
    /// The bytes of the message, owned or borrowed. `memory` is the backend.
    ///
    /// # Errors
    /// The bytes of a borrowed message are not in `memory`.
    pub fn bytes<'a>(&'a self, memory: &'a (impl ReceiveMemory + ?Sized)) -> Result<&'a [u8], ShortReceive> {
        match self {
            Self::Owned(bytes) => Ok(bytes),
            Self::Borrowed(fragment) => memory.fragment(fragment),
        }
    }
}

impl fmt::Debug for EndpointEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Established(negotiated) => f.debug_tuple("Established").field(negotiated).finish(),
            Self::ConnectFailed(error) => f.debug_tuple("ConnectFailed").field(error).finish(),
            Self::Message(message) => f.debug_tuple("Message").field(message).finish(),
            Self::Invalidated { id, token } => {
                f.debug_struct("Invalidated").field("id", id).field("token", token).finish()
            }
            Self::Sent { msg, payload, result } => f
                .debug_struct("Sent")
                .field("msg", msg)
                .field("payload", &Length(payload))
                .field("result", result)
                .finish(),
            Self::RdmaDone { op, result } => {
                f.debug_struct("RdmaDone").field("op", op).field("result", result).finish()
            }
            Self::Registered { id, result } => {
                f.debug_struct("Registered").field("id", id).field("result", result).finish()
            }
            Self::Deregistered { id, result } => {
                f.debug_struct("Deregistered").field("id", id).field("result", result).finish()
            }
            Self::Probed(result) => f.debug_tuple("Probed").field(result).finish(),
            Self::Writable => f.write_str("Writable"),
            Self::Closed(reason) => f.debug_tuple("Closed").field(reason).finish(),
            Self::Drained => f.write_str("Drained"),
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owned(bytes) => f.debug_tuple("Owned").field(&Length(bytes)).finish(),
            Self::Borrowed(fragment) => f.debug_tuple("Borrowed").field(fragment).finish(),
        }
    }
}

/// Payload, shown by its length.
pub(super) struct Length<'a>(pub(super) &'a [u8]);

impl fmt::Debug for Length<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// Counters of an endpoint, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Messages delivered without a copy.
    pub messages_borrowed: u64,
    /// Messages delivered as a copy.
    pub messages_copied: u64,
    /// Bytes copied out of receive buffers: each byte once.
    pub bytes_copied: u64,
    /// Bytes copied again because the reassembly buffer had to grow.
    pub bytes_moved: u64,
}
