//! Operations of a backend: an action of the connection together with its memory.

use core::fmt;

use thiserror::Error;

use crate::{
    Access, Action, Body, BufferDescriptorV1, Connection, Head, OpId, RdmaId, RdmaVerb, RecvId, RegId,
    Segment, SendId, Token, WrId,
};

/// One operation for a backend: an [`Action`] together with its memory. `M` is the backend's
/// [`Buffer`](super::Backend::Buffer).
#[derive(Debug)]
pub enum BackendOp<'a, M> {
    /// As [`Action::Connect`].
    Connect,
    /// As [`Action::Accept`].
    Accept,
    /// As [`Action::Disconnect`].
    Disconnect,
    /// As [`Action::PostRecv`].
    PostRecv {
        /// Its id; `id.slot()` is the index of the receive buffer.
        id: RecvId,
        /// Number of bytes of the buffer to post.
        len: u32,
    },
    /// As [`Action::PostSend`].
    PostSend {
        /// Its id.
        id: SendId,
        /// The first bytes of the message.
        head: &'a Head,
        /// The bytes behind the head.
        body: Option<Payload<'a, M>>,
        /// The peer's token to invalidate.
        invalidate: Option<Token>,
        /// Whether the send is signalled.
        signal: bool,
        /// Whether to request a solicited event at the peer.
        solicit: bool,
    },
    /// As [`Action::PostRdma`].
    PostRdma {
        /// Its id.
        id: RdmaId,
        /// Read or write, as this side posts it.
        verb: RdmaVerb,
        /// The local bytes.
        local: BufferSlice<'a, M>,
        /// The remote bytes, of the same length.
        remote: BufferDescriptorV1,
        /// Whether the request is signalled.
        signal: bool,
    },
    /// As [`Action::Register`].
    Register {
        /// Its id.
        id: RegId,
        /// The buffer, all of it.
        buffer: &'a M,
        /// The rights of the peer, no more and no less.
        access: Access,
        /// Most segments that `Registered` may report.
        segments_max: u16,
    },
    /// As [`Action::Deregister`].
    Deregister {
        /// Its id.
        id: RegId,
        /// The segments that `Registered` reported. One without a [`descriptor`](Segment::descriptor) was invalidated
        /// by the peer and must not be invalidated again.
        segments: &'a [Segment],
    },
}

/// The bytes behind the head of a message.
#[derive(Debug)]
pub enum Payload<'a, M> {
    /// Bytes to copy before `execute` returns.
    Copy(&'a [u8]),
    /// Bytes that the device reads in place until the send is complete.
    InPlace(BufferSlice<'a, M>),
}

impl<M> Payload<'_, M> {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Copy(bytes) => bytes.len(),
            Self::InPlace(local) => usize::try_from(local.len).unwrap_or(usize::MAX),
        }
    }

    /// Whether it has no byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A range of a buffer. A backend refuses the operation if the range is not inside the buffer.
#[derive(Debug)]
pub struct BufferSlice<'a, M> {
    /// The buffer.
    pub buffer: &'a M,
    /// Where the range begins, in bytes.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
}

/// Looks up the memory that belongs to the ids that commands returned. `None` is a fault of the upper layer:
/// [`drive`](super::drive()) fails with [`UnknownBuffer`].
pub trait BufferLookup<M> {
    /// The bytes of an outgoing message: exactly `body.len` of them. An `Endpoint` knows them itself.
    fn body(&self, body: Body) -> Option<Payload<'_, M>> {
        let _ = body;
        None
    }

    /// The local buffer of an RDMA operation. The operation begins at its byte 0 and fits into it.
    fn operation(&self, op: OpId) -> Option<&M> {
        let _ = op;
        None
    }

    /// The buffer of a registration.
    fn registration(&self, id: RegId) -> Option<&M> {
        let _ = id;
        None
    }
}

/// The upper layer has no buffer for a work request ([`BufferLookup`]).
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("no memory is known for {0}")]
pub struct UnknownBuffer(pub WrId);

impl fmt::Debug for UnknownBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnknownBuffer({})", self.0)
    }
}

impl<'a, M> BackendOp<'a, M> {
    /// The operation of `action`; `None` for `Notify` and `Wait`, which are not for a backend.
    ///
    /// # Errors
    /// `memory` has no buffer for it, or a body of another length.
    #[inline(always)]
    pub fn of<E>(
        action: &'a Action<E>,
        connection: &'a Connection,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<Self>, UnknownBuffer> {
        Ok(Some(match *action {
            Action::Connect => Self::Connect,
            Action::Accept => Self::Accept,
            Action::Disconnect => Self::Disconnect,
            Action::PostRecv { id, len } => Self::PostRecv { id, len },
            Action::PostSend { id, ref head, body, invalidate, signal, solicit } => {
                let body = match body {
                    Some(body) => Some(payload(body, memory).ok_or(UnknownBuffer(id.into()))?),
                    None => None,
                };
                Self::PostSend { id, head, body, invalidate, signal, solicit }
            }
            Action::PostRdma { id, op, verb, local_offset, remote, signal } => {
                let buffer = memory.operation(op).ok_or(UnknownBuffer(id.into()))?;
                let local = BufferSlice { buffer, offset: local_offset, len: remote.length };
                Self::PostRdma { id, verb, local, remote, signal }
            }
            Action::Register { id, access, segments_max } => {
                let buffer = memory.registration(id).ok_or(UnknownBuffer(id.into()))?;
                Self::Register { id, buffer, access, segments_max }
            }
            Action::Deregister { id } => Self::Deregister { id, segments: connection.segments(id) },
            Action::Notify(_) | Action::Wait(_) => return Ok(None),
        }))
    }
}

fn payload<M>(body: Body, memory: &impl BufferLookup<M>) -> Option<Payload<'_, M>> {
    let payload = memory.body(body)?;
    (u32::try_from(payload.len()) == Ok(body.len)).then_some(payload)
}
