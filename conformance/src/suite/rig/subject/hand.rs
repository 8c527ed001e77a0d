//! The control that a case has over the upper layer of a subject.

use std::fmt;

use bytes::Bytes;
use smbd_core::error::{CommandError, RdmaError, RegisterError, SendError, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Endpoint, Instant, MsgId, OpId, RdmaVerb, RegId, Token, WrId};

use super::super::{MemoryOf, RdmaSeen, Told, Unable, UpperHand, Work};
use super::Subject;

/// Most segments of a registration by hand.
const SEGMENTS: u16 = 4;
/// What a case asks for and no memory is there: as if the connection had no room.
const NO_MEMORY: CommandError = CommandError::NoRoom { what: "buffers of the subject's host" };

/// Where a subject sits: its backend, and what that can be made to do.
pub(in crate::suite::rig) trait Seat {
    /// A buffer of the backend.
    type Buffer: Clone + fmt::Debug;

    fn subject(&self) -> &Subject<Self::Buffer>;

    fn subject_mut(&mut self) -> &mut Subject<Self::Buffer>;

    /// A buffer of the subject's host that holds `bytes`, at least one.
    fn buffer(&mut self, bytes: &[u8]) -> Option<Self::Buffer>;

    /// The first bytes of a buffer.
    fn contents(&mut self, buffer: &Self::Buffer, len: usize) -> Option<Vec<u8>>;

    /// The time.
    fn now(&mut self) -> Instant;

    /// As [`UpperHand::acknowledges_writes`].
    fn acknowledges_writes(&self) -> bool;

    /// As [`UpperHand::refuse_after`], of the work that `counted` names.
    fn refuse_after(&mut self, work: Work, counted: fn(WrId) -> bool, accepted: usize) -> Result<(), Unable>;

    /// As [`UpperHand::break_device`].
    fn break_device(&mut self) -> Result<(), Unable>;

    /// As [`UpperHand::fail_deregistrations`].
    fn fail_deregistrations(&mut self, count: usize);
}

impl<S: Seat> UpperHand for S {
    fn by_hand(&mut self) {
        self.subject_mut().layer.by_hand = true;
    }

    fn told(&self) -> &[(Instant, Told)] {
        &self.subject().layer.told
    }

    fn sends_when_told(&self) -> &[u64] {
        &self.subject().layer.sends_when_told
    }

    fn endpoint(&self) -> &Endpoint {
        &self.subject().endpoint
    }

    fn endpoint_mut(&mut self) -> &mut Endpoint {
        &mut self.subject_mut().endpoint
    }

    fn send(&mut self, payload: Bytes, invalidate: Option<Token>) -> Result<MsgId, SendError> {
        let now = self.now();
        self.subject_mut().endpoint.send(now, payload, invalidate).map_err(|refused| refused.error)
    }

    fn rdma(
        &mut self,
        verb: RdmaVerb,
        bytes: &[u8],
        remote: &[BufferDescriptorV1],
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        let now = self.now();
        let len = u32::try_from(bytes.len()).map_err(|_| NO_MEMORY)?;
        let buffer = self.buffer(bytes).ok_or(NO_MEMORY)?;
        let subject = self.subject_mut();
        let op = subject.endpoint.rdma(now, verb, len, remote.into(), offset)?;
        subject.layer.operations.insert(op, buffer);
        Ok(op)
    }

    fn register(&mut self, bytes: &[u8], access: Access) -> Result<RegId, RegisterError> {
        let now = self.now();
        let buffer = self.buffer(bytes).ok_or(NO_MEMORY)?;
        let subject = self.subject_mut();
        let id = subject.endpoint.register(now, access, SEGMENTS)?;
        subject.layer.registrations.insert(id, buffer);
        Ok(id)
    }

    fn deregister(&mut self, id: RegId) -> Result<(), RegisterError> {
        let now = self.now();
        self.subject_mut().endpoint.deregister(now, id)
    }

    fn memory(&mut self, of: MemoryOf, len: usize) -> Option<Vec<u8>> {
        let layer = &self.subject().layer;
        let buffer = match of {
            MemoryOf::Operation(op) => layer.operations.get(&op),
            MemoryOf::Registration(id) => layer.registrations.get(&id),
        };
        let buffer = buffer?.clone();
        self.contents(&buffer, len)
    }

    fn hold(&mut self, fragments: usize) {
        self.subject_mut().layer.hold = fragments;
    }

    fn give_back(&mut self) {
        let now = self.now();
        let Subject { endpoint, layer, .. } = self.subject_mut();
        layer.give_back(endpoint, now);
    }

    fn pause(&mut self, is_paused: bool) {
        let Subject { endpoint, .. } = self.subject_mut();
        if is_paused { endpoint.pause() } else { endpoint.resume() }
    }

    fn refuse_after(&mut self, work: Work, accepted: usize) -> Result<(), Unable> {
        let counted: fn(WrId) -> bool = match work {
            Work::Any => |_| true,
            Work::Sends => |id| matches!(id, WrId::Send(_)),
            Work::Receives => |id| matches!(id, WrId::Recv(_)),
            Work::Registrations => |id| matches!(id, WrId::Reg(_)),
        };
        Seat::refuse_after(self, work, counted, accepted)
    }

    fn break_device(&mut self) -> Result<(), Unable> {
        Seat::break_device(self)
    }

    fn failures(&self) -> &[(WrId, WorkError)] {
        self.subject().failures()
    }

    fn greet(&mut self, payload: Bytes) {
        self.subject_mut().layer.greeting = Some(payload);
    }

    fn fail_deregistrations(&mut self, count: usize) {
        Seat::fail_deregistrations(self, count);
    }

    fn rdma_seen(&self) -> &[RdmaSeen] {
        &self.subject().device.rdma
    }

    fn acknowledges_writes(&self) -> bool {
        Seat::acknowledges_writes(self)
    }

    fn opened(&self) -> &[BufferDescriptorV1] {
        self.subject().opened()
    }
}
