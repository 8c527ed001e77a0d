use smbd_core::backend::kit::reference::{ReferenceBuffer, ReferenceEnd};
use smbd_core::backend::{Backend, HostMemory, Local, OutOfMemory, OutOfRange, Payload, ReceiveMemory, Step};
use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Input, Instant, RdmaId, RdmaVerb, RecvId};

use super::{Fault, Out, State};

/// An RDMA request that is posted later than it should be.
pub struct Held {
    id: RdmaId,
    verb: RdmaVerb,
    buffer: ReferenceBuffer,
    offset: u32,
    remote: BufferDescriptorV1,
}

pub struct WrongEnd<'a> {
    pub inner: ReferenceEnd<'a>,
    pub fault: Fault,
    pub state: &'a mut State,
}

impl ReceiveMemory for WrongEnd<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        match self.fault {
            Fault::OneBufferForAll => self.inner.received(self.state.last.unwrap_or(id)),
            Fault::BuffersFreedAtDisconnect if self.state.disconnected => &[],
            _ => self.inner.received(id),
        }
    }
}

impl WrongEnd<'_> {
    /// What the device is given instead of `step`, if anything.
    fn spoil<'s>(&mut self, step: Step<'s, ReferenceBuffer>) -> Option<Step<'s, ReferenceBuffer>> {
        Some(match (self.fault, step) {
            (Fault::GivingUpIgnored, Step::Disconnect) if !self.state.connected => return None,
            (Fault::LatePostsForgotten, Step::PostRecv { .. } | Step::PostSend { .. })
                if self.state.disconnecting =>
            {
                return None;
            }
            (_, Step::Disconnect) => {
                self.state.disconnecting = true;
                if self.fault == Fault::DisconnectedAfterConnectFailed && self.state.failed {
                    self.state.out.push_back(Out::Plain(Input::Disconnected));
                }
                if let Some(kept) = self.state.kept.take() {
                    self.state.out.push_back(Out::Plain(kept));
                }
                Step::Disconnect
            }
            (_, Step::PostRecv { id, .. }) if self.state.refuses_first && !self.state.connected => {
                let failed = Input::Failed { id: id.into(), error: WorkError::Refused { errno: 22 } };
                self.state.out.push_back(Out::Plain(failed));
                return None;
            }
            (Fault::ReceivesOneDoorbellLate, Step::PostRecv { id, len }) if self.state.connected => {
                self.state.late_receives.push((id, len));
                return None;
            }
            (Fault::ChainedPastAccept, Step::PostRecv { id, len }) if !self.state.connected => {
                self.state.late_receives.push((id, len));
                return None;
            }
            (Fault::WritesLast, Step::PostRdma { id, verb, local, remote }) => {
                let (buffer, offset) = (local.buffer.clone(), local.offset);
                self.state.held.push(Held { id, verb, buffer, offset, remote });
                return None;
            }
            (Fault::InPlaceForgotten, Step::PostSend { id, head, body, invalidate, signal, solicit }) => {
                let body = body.filter(|body| matches!(body, Payload::Copy(_)));
                Step::PostSend { id, head, body, invalidate, signal, solicit }
            }
            (Fault::WritesOneByteOff, Step::PostRdma { id, verb: RdmaVerb::Write, local, mut remote }) => {
                remote.offset += 1;
                Step::PostRdma { id, verb: RdmaVerb::Write, local, remote }
            }
            (Fault::ReadsOneByteOff, Step::PostRdma { id, verb: RdmaVerb::Read, mut local, remote }) => {
                local.offset += 1;
                Step::PostRdma { id, verb: RdmaVerb::Read, local, remote }
            }
            (Fault::EveryRightGiven, Step::Register { id, buffer, segments_max, .. }) => {
                Step::Register { id, buffer, access: Access::ReadWrite, segments_max }
            }
            (Fault::TokensNeverDie, Step::Deregister { id, .. }) => {
                self.state.out.push_back(Out::Plain(Input::Deregistered { id }));
                return None;
            }
            (Fault::InvalidatesTwice, Step::Deregister { id, segments })
                if segments.iter().any(|segment| segment.descriptor().is_none()) =>
            {
                let failed = Input::Failed { id: id.into(), error: WorkError::LocalOperation };
                self.state.out.push_back(Out::Plain(failed));
                return None;
            }
            (_, step) => step,
        })
    }

    fn note(&mut self, step: &Step<'_, ReferenceBuffer>) {
        match step {
            Step::PostRecv { id, len } => self.state.rooms.push((*id, *len)),
            Step::PostSend { id, signal: false, .. } => self.state.unsignalled.push(*id),
            _ => {}
        }
    }
}

impl Backend for WrongEnd<'_> {
    type Buffer = ReferenceBuffer;

    fn now(&self) -> Instant {
        let now = self.inner.now();
        match self.fault {
            Fault::ClockGoesBack => Instant::from_nanos(u64::MAX / 2 - now.as_nanos()),
            _ => now,
        }
    }

    fn execute(&mut self, step: Step<'_, ReferenceBuffer>) {
        self.note(&step);
        if let Some(step) = self.spoil(step) {
            self.inner.execute(step);
        }
    }

    fn ring(&mut self) {
        self.inner.ring();
        for (id, len) in std::mem::take(&mut self.state.late_receives) {
            self.inner.execute(Step::PostRecv { id, len });
        }
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        for Held { id, verb, buffer, offset, remote } in std::mem::take(&mut self.state.held) {
            let local = Local { buffer: &buffer, offset, len: remote.length };
            self.inner.execute(Step::PostRdma { id, verb, local, remote });
            self.inner.ring();
        }
        while self.state.out.is_empty() {
            let Some(input) = self.inner.next_input() else {
                // Nothing came that could go first.
                let holds = matches!(self.fault, Fault::EndBeforeCauses | Fault::DeregisteredBeforeMessages);
                return if holds { self.state.kept.take() } else { None };
            };
            let out = match input {
                Input::Registered { id, segments, settled } => {
                    self.state.segments.clear();
                    self.state.segments.extend_from_slice(segments);
                    Out::Registered(id, settled)
                }
                input => Out::Plain(super::filter::owned(&input)),
            };
            self.filter(out);
        }
        match self.state.out.pop_front()? {
            Out::Plain(input) => Some(input),
            Out::Registered(id, settled) => {
                Some(Input::Registered { id, segments: &self.state.segments, settled })
            }
        }
    }
}

impl HostMemory for WrongEnd<'_> {
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
