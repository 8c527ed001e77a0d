use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use smbd_core::error::{CloseReason, ProbeError};
use smbd_core::{BufferDescriptorV1, Negotiated, Token};

use crate::Failure;

/// How a connection ended: the reason, or the error because of which it was not established or could not be driven.
pub type Ending<E> = Result<CloseReason, Failure<E>>;

/// How a connection ended, for people.
pub fn why<E: Display>(ending: &Ending<E>) -> String {
    match ending {
        Ok(reason) => reason.to_string(),
        Err(failure) => failure.to_string(),
    }
}

/// An event of a [`Link`](super::Link), except for messages. `N` is a name that the owner of the link gave, as the `wr_id` of verbs. `E` is
/// the error of the backend.
#[derive(Debug)]
pub enum Event<N, E> {
    /// The connection is established.
    Established(Negotiated),
    /// An RDMA operation is finished. Every operation has one such event.
    RdmaDone {
        /// The name of the operation.
        name: N,
        /// Whether all its bytes were moved.
        result: Result<(), Failure<E>>,
    },
    /// A registration is valid, or there is none. Every [`register`](super::Link::register) has one such event.
    Registered {
        /// The name of the registration.
        name: N,
        /// The descriptors of the buffer (2.2.3.1), which the upper layer sends to the peer.
        result: Result<Arc<[BufferDescriptorV1]>, Failure<E>>,
    },
    /// The access of the peer has ended, or it is not known whether it has. Every [`deregister`](super::Link::deregister) has one such
    /// event.
    Deregistered {
        /// The name of the registration.
        name: N,
        /// Whether all remote access has ended.
        result: Result<(), Failure<E>>,
    },
    /// The peer has invalidated a token of this side. The event comes before the message that invalidated it.
    Invalidated {
        /// The name of the registration.
        name: N,
        /// The token.
        token: Token,
    },
    /// The result of a [`probe`](super::Link::probe): the time until the peer's next message.
    Probed(Result<Duration, ProbeError>),
    /// The connection is over: the last event. Messages that arrived before may still be there.
    Ended(Ending<E>),
}

/// A piece of a received message; a whole one if nothing remains and nothing was before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes; at least one. Nobody else has them: they may be decrypted in place.
    pub bytes: BytesMut,
    /// Bytes of the message that follow in later pieces: RemainingDataLength (2.2.3).
    pub remaining: u32,
}
