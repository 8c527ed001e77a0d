//! Commands: `send` and `release` are partly done here, the others are those of the connection.

use alloc::sync::Arc;
use core::fmt;

use bytes::Bytes;
use thiserror::Error;

use super::Endpoint;
use super::event::Length;
use crate::error::{CommandError, RdmaError, RegisterError, SendError};
use crate::{
    Access, BufferDescriptorV1, Close, Connection, Fragment, Instant, Misuse, MsgId, OpId, RdmaVerb, RegId,
    Token,
};

/// `send` was refused: the reason, and the bytes of the message.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct NotSent {
    /// The reason.
    #[source]
    pub error: SendError,
    /// The bytes of the message.
    pub payload: Bytes,
}

impl fmt::Debug for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotSent")
            .field("error", &self.error)
            .field("payload", &Length(&self.payload))
            .finish()
    }
}

impl Endpoint {
    /// Sends a message of 1 to [`max_fragmented_send_size`](crate::Negotiated::max_fragmented_send_size) bytes
    /// (3.1.4.2). Its last fragment invalidates the peer's token `invalidate`, if the transport can do that
    /// ([`Limits::send_with_invalidate`](crate::Limits)).
    ///
    /// Returns at once; the endpoint keeps the bytes. A message commanded after RDMA Writes is posted behind all of
    /// them, so a server can command data and answer together. The result is
    /// [`EndpointEvent::Sent`](super::EndpointEvent::Sent) with the bytes.
    ///
    /// # Errors
    /// The connection is not established or is closing, all `message_slots` are taken
    /// ([`EndpointEvent::Writable`](super::EndpointEvent::Writable) reports when one is free), or the length is 0 or
    /// too long: see [`SendError`]. Nothing has changed, and the bytes are in the error.
    pub fn send(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent> {
        self.send_with(payload, |connection, len| connection.send(now, len, invalidate))
    }

    /// Sends a message like [`send`](Self::send), for an upper layer that does not wait for the result: it asks for no
    /// completion, and the endpoint keeps the bytes until another one says that they are sent. See
    /// [`Connection::send_unsignalled`](crate::Connection::send_unsignalled).
    ///
    /// # Errors
    /// The errors of [`send`](Self::send). Nothing has changed, and the bytes are in the error.
    pub fn send_unsignalled(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent> {
        self.send_with(payload, |connection, len| connection.send_unsignalled(now, len, invalidate))
    }

    #[inline]
    fn send_with(
        &mut self,
        payload: Bytes,
        send: impl FnOnce(&mut Connection, u32) -> Result<MsgId, SendError>,
    ) -> Result<MsgId, NotSent> {
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        match send(&mut self.connection, len) {
            Ok(msg) => {
                self.outgoing.put(msg, payload);
                Ok(msg)
            }
            Err(error) => Err(NotSent { error, payload }),
        }
    }

    /// Returns the receive buffer of a [borrowed](super::Message::Borrowed) message, in any phase. The buffer is posted
    /// and granted to the peer again. There is no result event.
    ///
    /// # Errors
    /// [`Misuse::ForeignFragment`]: the fragment belongs to another endpoint.
    pub fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        self.connection.release(now, fragment)?;
        self.borrowed = self.borrowed.saturating_sub(1);
        Ok(())
    }

    /// Transfers `len` bytes between the beginning of a local buffer and the peer's buffer that `remote` describes, from byte
    /// `offset` of it on: [`RdmaVerb::Write`] to the peer (3.1.4.5), [`RdmaVerb::Read`] from it (3.1.4.6). `len` is at most
    /// [`max_read_write_size`](crate::Negotiated::max_read_write_size) bytes.
    ///
    /// Returns at once. The result is [`EndpointEvent::RdmaDone`](super::EndpointEvent::RdmaDone); an operation of 0
    /// bytes has it at once. The backend looks up the local buffer by the returned id
    /// ([`BufferLookup::operation`](crate::backend::BufferLookup::operation)).
    ///
    /// # Errors
    /// The connection is not established or is closing, all `rdma_ops` are taken
    /// ([`EndpointEvent::Writable`](super::EndpointEvent::Writable) reports when one is free), the range is too long or
    /// not inside the descriptors, or the connection allows no Reads: see [`RdmaError`]. Nothing has changed, nothing
    /// was posted.
    pub fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.connection.rdma(now, verb, len, remote, offset)
    }

    /// Transfers data like [`rdma`](Self::rdma), for an upper layer that need not hear of the result before that of something
    /// later: [`Connection::rdma_unsignalled`](crate::Connection::rdma_unsignalled).
    ///
    /// # Errors
    /// The errors of [`rdma`](Self::rdma). Nothing has changed.
    pub fn rdma_unsignalled(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.connection.rdma_unsignalled(now, verb, len, remote, offset)
    }

    /// Gives the peer access to a local buffer, with exactly these rights, on this connection only (3.1.4.3). The device may
    /// describe the buffer by 1 to `segments_max` segments.
    ///
    /// Returns at once. The result is [`EndpointEvent::Registered`](super::EndpointEvent::Registered). After it
    /// [`Connection::live_segments`](crate::Connection::live_segments) returns the descriptors for the peer. The
    /// backend looks up the buffer by the returned id
    /// ([`BufferLookup::registration`](crate::backend::BufferLookup::registration)).
    ///
    /// # Errors
    /// The connection is not established or is closing, all `registrations` or their segments are taken, or `segments_max` is 0
    /// or more than the send queue has room for: see [`RegisterError`]. Nothing has changed.
    pub fn register(
        &mut self,
        now: Instant,
        access: Access,
        segments_max: u16,
    ) -> Result<RegId, RegisterError> {
        self.connection.register(now, access, segments_max)
    }

    /// Ends all remote access to a registered buffer (3.1.4.4). Also needed if the peer has invalidated its tokens.
    /// Returns at once. The result is [`EndpointEvent::Deregistered`](super::EndpointEvent::Deregistered); the memory
    /// is free only after it.
    ///
    /// # Errors
    /// The connection is not established or is closing; or `id` is not a valid registration, because it does not exist,
    /// is not complete, or is being deregistered: see [`RegisterError`]. Nothing has changed.
    pub fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        self.connection.deregister(now, id)
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3) and measures the time until the peer's next
    /// message. Returns at once. The result is [`EndpointEvent::Probed`](super::EndpointEvent::Probed), at the latest
    /// after [`Keepalive::answer_timeout`](crate::Keepalive), or after 5 s without keepalive (note <3>). An unanswered
    /// probe does not end the connection.
    ///
    /// # Errors
    /// The connection is not established or is closing, or another probe is not finished: see [`CommandError`]. Nothing
    /// has changed.
    pub fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        self.connection.probe(now)
    }

    /// Ends the connection, in any phase. Returns at once. The result is
    /// [`EndpointEvent::Closed`](super::EndpointEvent::Closed) after the results of all commands, or
    /// [`EndpointEvent::ConnectFailed`](super::EndpointEvent::ConnectFailed) if it was not established, and then
    /// [`EndpointEvent::Drained`](super::EndpointEvent::Drained). A second call can only make it end earlier.
    pub fn close(&mut self, now: Instant, how: Close) {
        self.connection.close(now, how);
    }
}
