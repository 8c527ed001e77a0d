use std::sync::Arc;

use bytes::Bytes;

use smbd_core::backend::Protocol;
use smbd_core::endpoint::{EndpointEvent, NotSent};
use smbd_core::error::{CommandError, RdmaError, RegisterError};
use smbd_core::{
    Access, BufferDescriptorV1, Close, Endpoint, Fragment, Instant, Misuse, MsgId, OpId, RdmaVerb, RegId,
    Token,
};

/// An [`Endpoint`], or a wrapper of one, for example one that records its inputs and outputs. Each method does the same
/// as the endpoint's method of that name. All return at once.
pub trait Messages: Protocol<Event = EndpointEvent> {
    /// The endpoint.
    fn endpoint(&self) -> &Endpoint;

    /// Sends a message of 1 to `max_fragmented_send_size` bytes (3.1.4.2): [`Endpoint::send`].
    ///
    /// # Errors
    /// [`NotSent`], with a [`SendError`](smbd_core::error::SendError) and the bytes. Nothing has changed.
    fn send(&mut self, now: Instant, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, NotSent>;

    /// Sends a message whose result is not waited for: [`Endpoint::send_unsignalled`].
    ///
    /// # Errors
    /// [`NotSent`], with a [`SendError`](smbd_core::error::SendError) and the bytes. Nothing has changed.
    fn send_unsignalled(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent>;

    /// Returns the receive buffer of a borrowed message: [`Endpoint::release`].
    ///
    /// # Errors
    /// [`Misuse::ForeignFragment`]: the fragment belongs to another endpoint.
    fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse>;

    /// Transfers `len` bytes between a local buffer and byte `offset` of the peer's buffer (3.1.4.5, 3.1.4.6):
    /// [`Endpoint::rdma`].
    ///
    /// # Errors
    /// [`RdmaError`]. Nothing has changed.
    fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError>;

    /// Transfers data whose result may come with that of something later: [`Endpoint::rdma_unsignalled`].
    ///
    /// # Errors
    /// [`RdmaError`]. Nothing has changed.
    fn rdma_unsignalled(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError>;

    /// Gives the peer access to a local buffer (3.1.4.3): [`Endpoint::register`].
    ///
    /// # Errors
    /// [`RegisterError`]. Nothing has changed.
    fn register(&mut self, now: Instant, access: Access, segments_max: u16) -> Result<RegId, RegisterError>;

    /// Ends all remote access to a registered buffer (3.1.4.4): [`Endpoint::deregister`].
    ///
    /// # Errors
    /// [`RegisterError`]. Nothing has changed.
    fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError>;

    /// Sends a keepalive probe: [`Endpoint::probe`].
    ///
    /// # Errors
    /// [`CommandError`]. Nothing has changed.
    fn probe(&mut self, now: Instant) -> Result<(), CommandError>;

    /// Ends the connection: [`Endpoint::close`].
    fn close(&mut self, now: Instant, how: Close);

    /// Stops the delivery of messages: [`Endpoint::pause`].
    fn pause(&mut self);

    /// Starts the delivery of messages again: [`Endpoint::resume`].
    fn resume(&mut self);
}

impl Messages for Endpoint {
    fn endpoint(&self) -> &Endpoint {
        self
    }

    fn send(&mut self, now: Instant, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, NotSent> {
        self.send(now, payload, invalidate)
    }

    fn send_unsignalled(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent> {
        self.send_unsignalled(now, payload, invalidate)
    }

    fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        self.release(now, fragment)
    }

    fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.rdma(now, verb, len, remote, offset)
    }

    fn rdma_unsignalled(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.rdma_unsignalled(now, verb, len, remote, offset)
    }

    fn register(&mut self, now: Instant, access: Access, segments_max: u16) -> Result<RegId, RegisterError> {
        self.register(now, access, segments_max)
    }

    fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        self.deregister(now, id)
    }

    fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        self.probe(now)
    }

    fn close(&mut self, now: Instant, how: Close) {
        self.close(now, how);
    }

    fn pause(&mut self) {
        self.pause();
    }

    fn resume(&mut self) {
        self.resume();
    }
}
