use alloc::rc::Rc;
use alloc::vec::Vec;

use super::net::{BASE, Body, EndState, Link, Memory, Net, Region, Report, Work};
use super::{ReferenceBuffer, range, zeroed};
use crate::backend::{
    Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, Payload, Push, Queue, ReceiveMemory, Request,
};
use crate::error::ConnectReason;
use crate::{Access, BufferDescriptorV1, Input, Instant, RecvId, RegId, Segment, Token};

/// The error number for a post that was refused on purpose: EINVAL.
const REFUSED: i32 = 22;

/// One end of a reference fixture.
#[derive(Debug)]
pub struct ReferenceBackend<'a> {
    net: &'a mut Net,
    index: usize,
}

impl<'a> ReferenceBackend<'a> {
    pub(super) const fn new(net: &'a mut Net, index: usize) -> Self {
        Self { net, index }
    }

    fn state(&mut self) -> Option<&mut EndState> {
        self.net.ends.get_mut(self.index)
    }

    fn keep(&self, buffer: &ReferenceBuffer) -> Memory {
        if self.net.options.keeps_memory {
            Memory::Kept(Rc::clone(buffer))
        } else {
            Memory::Forgotten(Rc::downgrade(buffer))
        }
    }

    fn chain(&mut self, request: Request, work: Work) {
        if let Some(Queue::Recv | Queue::Send) = self.other_chain(request) {
            self.ring_doorbell();
        }
        let Some(state) = self.state() else { return };
        if state.queues.push(request) == Push::Chain {
            state.chain.push(work);
        }
    }

    fn other_chain(&mut self, request: Request) -> Option<Queue> {
        self.state()?.queues.chain().filter(|queue| *queue != request.queue())
    }

    fn connect(&mut self) {
        let now = self.net.now;
        let Some(state) = self.state() else { return };
        if state.queues.is_broken() {
            // A receive that was to be there first was refused: the peer hears nothing of it.
            state.link = Link::Down;
            state.news.connect_failed(ConnectReason::Other(REFUSED));
        } else {
            state.link = Link::Waiting(now);
        }
    }

    fn register(&mut self, id: RegId, buffer: &ReferenceBuffer, access: Access) {
        let windows = self.net.options.windows;
        let token = Token(self.net.next_token);
        self.net.next_token = self.net.next_token.wrapping_add(1);
        let memory = self.keep(buffer);
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let segment = BufferDescriptorV1 { offset: BASE, token, length };
        let Some(state) = self.state() else { return };
        if state.queues.is_broken() {
            let _ = state.queues.push(Request::Bind(id));
            return;
        }
        state.regions.push(Region { id, token, access, memory, live: !windows });
        if windows {
            self.chain(Request::Bind(id), Work::Bind(id, token));
            self.ring_doorbell();
        }
        // A bind that was refused is reported by the queues instead.
        if let Some(state) = self.state()
            && !state.queues.is_broken()
        {
            state.reports.push_back(Report::Registered { id, segment, bind_complete: !windows });
        }
    }

    fn deregister(&mut self, id: RegId, segments: &[Segment]) {
        let mut live = segments.iter().filter(|segment| segment.descriptor().is_some()).peekable();
        if self.net.options.windows && live.peek().is_some() {
            for segment in live {
                self.chain(Request::Invalidate(id), Work::Invalidate(id, segment.token()));
            }
            return;
        }
        let Some(state) = self.state() else { return };
        state.regions.retain(|region| region.id != id);
        state.reports.push_back(Report::Input(Input::Deregistered { id }));
    }
}

impl ReceiveMemory for ReferenceBackend<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        let state = self.net.ends.get(self.index);
        state.and_then(|state| state.slab.get(usize::from(id.slot()))).map_or(&[], Vec::as_slice)
    }
}

impl Backend for ReferenceBackend<'_> {
    type Buffer = ReferenceBuffer;

    fn now(&self) -> Instant {
        self.net.now
    }

    fn execute(&mut self, step: BackendOp<'_, ReferenceBuffer>) {
        match step {
            BackendOp::PostRecv { id, len } => {
                return self.chain(Request::Recv(id), Work::Recv(id, len));
            }
            BackendOp::PostSend { id, head, body, invalidate, signal, solicit: _ } => {
                let mut message = Body { head: *head, copied: Vec::new(), in_place: None };
                match body {
                    Some(Payload::Copy(bytes)) => message.copied.extend_from_slice(bytes),
                    Some(Payload::InPlace(local)) => {
                        message.in_place = Some((self.keep(local.buffer), local.offset, local.len));
                    }
                    None => {}
                }
                let work = Work::Send { id, message, invalidate, signal };
                return self.chain(Request::Send { id, signal }, work);
            }
            BackendOp::PostRdma { id, verb, local, remote, signal } => {
                let (local, offset) = (self.keep(local.buffer), local.offset);
                let work = Work::Rdma { id, verb, local, offset, remote, signal };
                return self.chain(Request::Rdma { id, signal }, work);
            }
            BackendOp::Connect
            | BackendOp::Accept
            | BackendOp::Disconnect
            | BackendOp::Register { .. }
            | BackendOp::Deregister { .. } => {}
        }
        self.ring_doorbell();
        match step {
            BackendOp::Connect | BackendOp::Accept => self.connect(),
            BackendOp::Disconnect => self.net.disconnect(self.index),
            BackendOp::Register { id, buffer, access, segments_max: _ } => self.register(id, buffer, access),
            BackendOp::Deregister { id, segments } => self.deregister(id, segments),
            BackendOp::PostRecv { .. } | BackendOp::PostSend { .. } | BackendOp::PostRdma { .. } => {}
        }
    }

    fn ring_doorbell(&mut self) {
        let Some(state) = self.state() else { return };
        let works = core::mem::take(&mut state.chain);
        let accepted = state.refuse_after.map_or(works.len(), |left| left.min(works.len()));
        if accepted < works.len() {
            state.queues.doorbell_rung_until(accepted, REFUSED);
        } else {
            state.queues.doorbell_rung();
        }
        if let Some(left) = &mut state.refuse_after {
            *left = left.saturating_sub(accepted);
        }
        for work in works.into_iter().take(accepted) {
            if let Work::Recv(id, len) = work {
                state.receives.push_back((id, len));
            } else {
                state.sends.push_back(work);
            }
        }
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let state = self.state()?;
        match state.reports.pop_front() {
            Some(Report::Input(input)) => Some(input),
            Some(Report::Registered { id, segment, bind_complete }) => {
                state.reported.clear();
                state.reported.push(segment);
                Some(Input::Registered { id, segments: &state.reported, bind_complete })
            }
            None => {
                let connected = state.news.poll_connected();
                connected.or_else(|| state.queues.poll()).or_else(|| state.news.poll_end())
            }
        }
    }
}

impl HostMemory for ReferenceBackend<'_> {
    fn allocate(&mut self, len: u32) -> Result<ReferenceBuffer, OutOfMemory> {
        usize::try_from(len).map(zeroed).map_err(|_| OutOfMemory { len })
    }

    fn fill(&mut self, buffer: &ReferenceBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let cells = cells(buffer, offset, bytes.len())?;
        cells.iter().zip(bytes).for_each(|(cell, byte)| cell.set(*byte));
        Ok(())
    }

    fn read(&self, buffer: &ReferenceBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let cells = cells(buffer, offset, out.len())?;
        out.iter_mut().zip(cells).for_each(|(byte, cell)| *byte = cell.get());
        Ok(())
    }
}

fn cells(buffer: &ReferenceBuffer, offset: u32, len: usize) -> Result<&[core::cell::Cell<u8>], OutOfRange> {
    let len = u64::try_from(len).unwrap_or(u64::MAX);
    let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    range(buffer, offset.into(), len).ok_or(OutOfRange { offset, len, size })
}
