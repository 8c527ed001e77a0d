use alloc::sync::Arc;

use bytes::Bytes;

use crate::backend::Protocol;
use crate::endpoint::{EndpointEvent, NotSent};
use crate::error::{CommandError, RdmaError, RegisterError};
use crate::{
    Access, BufferDescriptorV1, Close, Endpoint, Fragment, Instant, Misuse, MsgId, OpId, RdmaVerb, RegId,
    Token,
};

/// An [`Endpoint`], or something around one that watches what goes in and comes out of it. Each method is the endpoint's of
/// the same name.
pub trait Messages: Protocol<Event = EndpointEvent> {
    /// The endpoint, to look at.
    fn endpoint(&self) -> &Endpoint;

    /// As [`Endpoint::send`].
    ///
    /// # Errors
    /// As there.
    fn send(&mut self, now: Instant, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, NotSent>;

    /// As [`Endpoint::release`].
    ///
    /// # Errors
    /// As there.
    fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse>;

    /// As [`Endpoint::rdma`].
    ///
    /// # Errors
    /// As there.
    fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError>;

    /// As [`Endpoint::register`].
    ///
    /// # Errors
    /// As there.
    fn register(&mut self, now: Instant, access: Access, segments_max: u16) -> Result<RegId, RegisterError>;

    /// As [`Endpoint::deregister`].
    ///
    /// # Errors
    /// As there.
    fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError>;

    /// As [`Endpoint::probe`].
    ///
    /// # Errors
    /// As there.
    fn probe(&mut self, now: Instant) -> Result<(), CommandError>;

    /// As [`Endpoint::close`].
    fn close(&mut self, now: Instant, how: Close);

    /// As [`Endpoint::pause`].
    fn pause(&mut self);

    /// As [`Endpoint::resume`].
    fn resume(&mut self);
}

impl Messages for Endpoint {
    fn endpoint(&self) -> &Endpoint {
        self
    }

    fn send(&mut self, now: Instant, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, NotSent> {
        self.send(now, payload, invalidate)
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
