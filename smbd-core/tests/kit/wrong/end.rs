use smbd_core::backend::kit::reference::{ReferenceBackend, ReferenceBuffer};
use smbd_core::backend::{
    Backend, BackendOp, BufferSlice, HostMemory, OutOfMemory, OutOfRange, Payload, ReceiveMemory,
};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Input, Instant, RdmaId, RdmaVerb, RecvId};

use super::{Fault, Out, State};

/// An RDMA request that is posted later than it should be.
pub struct Held {
    id: RdmaId,
    verb: RdmaVerb,
    buffer: ReferenceBuffer,
    offset: u32,
    remote: BufferDescriptorV1,
    signal: bool,
}

pub struct WrongBackend<'a> {
    pub inner: ReferenceBackend<'a>,
    pub fault: Fault,
    pub state: &'a mut State,
}

impl ReceiveMemory for WrongBackend<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        match self.fault {
            Fault::OneBufferForAll => self.inner.received(self.state.last.unwrap_or(id)),
            Fault::BuffersFreedAtDisconnect if self.state.disconnected => &[],
            _ => self.inner.received(id),
        }
    }
}

impl WrongBackend<'_> {
    /// What the device is given instead of `step`, if anything.
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn spoil<'s>(&mut self, step: BackendOp<'s, ReferenceBuffer>) -> Option<BackendOp<'s, ReferenceBuffer>> {
        Some(match (self.fault, step) {
            (Fault::GivingUpIgnored, BackendOp::Disconnect) if !self.state.connected => return None,
            (Fault::LatePostsForgotten, BackendOp::PostRecv { .. } | BackendOp::PostSend { .. })
                if self.state.disconnecting =>
            {
                return None;
            }
            (_, BackendOp::Disconnect) => {
                self.state.disconnecting = true;
                if self.fault == Fault::DisconnectedAfterConnectFailed && self.state.failed {
                    self.state
                        .out
                        .push_back(Out::Plain(Input::Disconnected { reason: DisconnectReason::Local }));
                }
                if let Some(kept) = self.state.kept.take() {
                    self.state.out.push_back(Out::Plain(kept));
                }
                BackendOp::Disconnect
            }
            (_, BackendOp::PostRecv { id, .. }) if self.state.refuses_first && !self.state.connected => {
                let failed = Input::Failed { id: id.into(), error: WorkError::PostFailed { errno: 22 } };
                self.state.out.push_back(Out::Plain(failed));
                return None;
            }
            (Fault::ReceivesOneDoorbellLate, BackendOp::PostRecv { id, len }) if self.state.connected => {
                self.state.late_receives.push((id, len));
                return None;
            }
            (Fault::ChainedPastAccept, BackendOp::PostRecv { id, len }) if !self.state.connected => {
                self.state.late_receives.push((id, len));
                return None;
            }
            (Fault::WritesLast, BackendOp::PostRdma { id, verb, local, remote, signal }) => {
                let (buffer, offset) = (local.buffer.clone(), local.offset);
                self.state.held.push(Held { id, verb, buffer, offset, remote, signal });
                return None;
            }
            (
                Fault::InPlaceForgotten,
                BackendOp::PostSend { id, head, body, invalidate, signal, solicit },
            ) => {
                let body = body.filter(|body| matches!(body, Payload::Copy(_)));
                BackendOp::PostSend { id, head, body, invalidate, signal, solicit }
            }
            (
                Fault::WritesOneByteOff,
                BackendOp::PostRdma { id, verb: RdmaVerb::Write, local, mut remote, signal },
            ) => {
                remote.offset += 1;
                BackendOp::PostRdma { id, verb: RdmaVerb::Write, local, remote, signal }
            }
            (
                Fault::ReadsOneByteOff,
                BackendOp::PostRdma { id, verb: RdmaVerb::Read, mut local, remote, signal },
            ) => {
                local.offset += 1;
                BackendOp::PostRdma { id, verb: RdmaVerb::Read, local, remote, signal }
            }
            (Fault::EveryRightGiven, BackendOp::Register { id, buffer, segments_max, .. }) => {
                BackendOp::Register { id, buffer, access: Access::ReadWrite, segments_max }
            }
            (Fault::TokensNeverDie, BackendOp::Deregister { id, .. }) => {
                self.state.out.push_back(Out::Plain(Input::Deregistered { id }));
                return None;
            }
            (Fault::InvalidatesTwice, BackendOp::Deregister { id, segments })
                if segments.iter().any(|segment| segment.descriptor().is_none()) =>
            {
                let failed = Input::Failed { id: id.into(), error: WorkError::LocalOperation };
                self.state.out.push_back(Out::Plain(failed));
                return None;
            }
            (_, step) => step,
        })
    }

    fn note(&mut self, step: &BackendOp<'_, ReferenceBuffer>) {
        match step {
            BackendOp::PostRecv { id, len } => self.state.rooms.push((*id, *len)),
            BackendOp::PostSend { id, signal: false, .. } => self.state.unsignalled.push(*id),
            _ => {}
        }
    }
}

impl Backend for WrongBackend<'_> {
    type Buffer = ReferenceBuffer;

    fn now(&self) -> Instant {
        let now = self.inner.now();
        match self.fault {
            Fault::ClockGoesBack => Instant::from_nanos(u64::MAX / 2 - now.as_nanos()),
            _ => now,
        }
    }

    fn execute(&mut self, step: BackendOp<'_, ReferenceBuffer>) {
        self.note(&step);
        if let Some(step) = self.spoil(step) {
            self.inner.execute(step);
        }
    }

    fn ring_doorbell(&mut self) {
        self.inner.ring_doorbell();
        for (id, len) in std::mem::take(&mut self.state.late_receives) {
            self.inner.execute(BackendOp::PostRecv { id, len });
        }
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        for Held { id, verb, buffer, offset, remote, signal } in std::mem::take(&mut self.state.held) {
            let local = BufferSlice { buffer: &buffer, offset, len: remote.length };
            self.inner.execute(BackendOp::PostRdma { id, verb, local, remote, signal });
            self.inner.ring_doorbell();
        }
        while self.state.out.is_empty() {
            let Some(input) = self.inner.next_input() else {
                // Nothing came that could go first.
                let holds = matches!(self.fault, Fault::EndBeforeCauses | Fault::DeregisteredBeforeMessages);
                return if holds { self.state.kept.take() } else { None };
            };
            let out = match input {
                Input::Registered { id, segments, bind_complete } => {
                    self.state.segments.clear();
                    self.state.segments.extend_from_slice(segments);
                    Out::Registered(id, bind_complete)
                }
                input => Out::Plain(super::filter::owned(&input)),
            };
            self.filter(out);
        }
        match self.state.out.pop_front()? {
            Out::Plain(input) => Some(input),
            Out::Registered(id, bind_complete) => {
                Some(Input::Registered { id, segments: &self.state.segments, bind_complete })
            }
        }
    }
}

impl HostMemory for WrongBackend<'_> {
    fn allocate(&mut self, len: u32) -> Result<ReferenceBuffer, OutOfMemory> {
        self.inner.allocate(len)
    }

    fn fill(&mut self, buffer: &ReferenceBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.inner.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &ReferenceBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.inner.read(buffer, offset, out)
    }
}
