use std::rc::Rc;

use smbd_core::backend::{Backend, HostMemory, Local, OutOfMemory, OutOfRange, Payload, ReceiveMemory, Step};
use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Input, Instant, RecvId, RegId, Segment, WrId};
use smbd_sim::memory::{Buffer, Kind, Range};
use smbd_sim::nic::{Operation, QpState, RecvDone, SendDone, SendWork};

use crate::net::{EndState, Link, Net, Out, Registration, domain};

/// The error number of a refusal on purpose.
const REFUSED: i32 = 22;

/// Shared with the host, which frees the memory when nobody else has it.
pub type SimBuffer = Rc<Buffer>;

/// One end: a device of the simulator with the books a backend keeps.
pub struct SimEnd<'a> {
    pub net: &'a mut Net,
    pub index: usize,
}

impl SimEnd<'_> {
    fn state(&mut self) -> &mut EndState {
        &mut self.net.ends[self.index]
    }

    /// The device whose memory and tokens the host has: that of the first connection.
    fn host(&mut self) -> &mut EndState {
        &mut self.net.ends[self.index % 2]
    }

    fn range(&self, local: &Local<'_, SimBuffer>) -> Option<Range> {
        let whole = self.net.ends[self.index % 2].nic.buffers.whole(**local.buffer)?;
        whole.part(local.offset, local.len)
    }

    /// Whether a request is not to be posted; its failure is then reported.
    fn is_refused(&mut self, id: WrId) -> bool {
        let end = self.state();
        if end.refusing {
            end.fail(id, WorkError::Flushed);
            return true;
        }
        match &mut end.refuse_after {
            Some(0) => {
                end.refusing = true;
                end.fail(id, WorkError::Refused { errno: REFUSED });
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    /// False if it was not posted.
    fn post(&mut self, work: SendWork) -> bool {
        if self.is_refused(work.id) {
            return false;
        }
        let end = self.state();
        match end.nic.post_send(work) {
            Ok(packet) => {
                end.packets.extend(packet);
                true
            }
            Err(refused) => {
                end.refusing = true;
                end.fail(work.id, WorkError::Refused { errno: refused.0 });
                false
            }
        }
    }

    fn register(&mut self, id: RegId, buffer: &SimBuffer, access: Access, segments_max: u16) {
        let domain = domain(self.index);
        let host = &mut self.net.ends[self.index % 2].nic;
        let windows = host.config.windows;
        let kind = if windows { Kind::Window } else { Kind::Region };
        let mut segments = Vec::new();
        let Some(whole) = host.buffers.whole(**buffer) else {
            return self.state().fail(id, WorkError::LocalProtection);
        };
        let piece = host.config.segment_len_max;
        for offset in (0..whole.len).step_by(usize::try_from(piece).unwrap()) {
            let part = whole.part(offset, piece.min(whole.len - offset)).unwrap();
            segments.extend(host.tokens.enable(&host.buffers, domain, kind, access, part));
        }
        if segments.len() > usize::from(segments_max) {
            return self.state().fail(id, WorkError::Refused { errno: REFUSED });
        }
        let requests = if windows { segments.len() } else { 0 };
        let bind = SendWork { id: id.into(), operation: Operation::Bind, signal: true };
        if !(0..requests).all(|_| self.post(bind)) {
            return;
        }
        let end = self.state();
        end.held.insert(id.into(), Rc::clone(buffer));
        let registration =
            Registration { segments: segments.clone(), requests, error: None, invalidating: false };
        end.registrations.insert(id, registration);
        end.out.push_back(Out::Registered { id, segments, settled: !windows });
    }

    fn deregister(&mut self, id: RegId, segments: &[Segment]) {
        let end = self.state();
        let live: Vec<_> = segments.iter().filter_map(Segment::descriptor).collect();
        let by_request = end.nic.config.windows && end.nic.state() == QpState::Ready && !live.is_empty();
        if !by_request {
            self.close(id);
            return self.state().out.push_back(Out::Input(Input::Deregistered { id }));
        }
        if let Some(registration) = end.registrations.get_mut(&id) {
            registration.requests = live.len();
            registration.invalidating = true;
        }
        for BufferDescriptorV1 { token, .. } in live {
            self.post(SendWork { id: id.into(), operation: Operation::Invalidate(token), signal: true });
        }
    }

    /// Ends all access that a registration still gives.
    fn close(&mut self, id: RegId) {
        let domain = domain(self.index);
        self.state().held.remove(&id.into());
        let registration = self.state().registrations.remove(&id);
        for segment in registration.into_iter().flat_map(|registration| registration.segments) {
            // Not if the peer was first.
            let _closed = self.host().nic.tokens.disable(domain, segment.token);
        }
    }

    fn disconnect(&mut self) {
        let end = self.state();
        end.nic.flush();
        end.leaving = true;
        end.lose();
        let open: Vec<_> = end.registrations.keys().copied().collect();
        open.into_iter().for_each(|id| self.close(id));
    }

    fn received_input(&mut self, done: RecvDone) -> Input<'static> {
        let end = self.state();
        match done.result {
            Ok(arrived) => {
                end.lengths.insert(done.id.slot(), usize::try_from(arrived.len).unwrap());
                if std::mem::take(&mut end.late) {
                    let limits = end.nic.config.limits(end.nic.config.read_depth);
                    end.news.connected(limits);
                }
                Input::Received {
                    id: done.id,
                    head: arrived.head,
                    len: arrived.len,
                    invalidated: arrived.invalidated,
                }
            }
            Err(error) => Input::Failed { id: done.id.into(), error },
        }
    }

    /// `None` if the registration has more requests to complete.
    fn sent_input(&mut self, done: SendDone) -> Option<Input<'static>> {
        let end = self.state();
        let input = match done.id {
            WrId::Send(id) => Input::Sent { id },
            WrId::Rdma(id) => Input::RdmaDone { id },
            WrId::Reg(id) => return self.registration_input(id, done.result),
            WrId::Recv(_) => return None,
        };
        end.held.remove(&done.id);
        Some(match done.result {
            Ok(()) => input,
            Err(error) => Input::Failed { id: done.id, error },
        })
    }

    fn registration_input(&mut self, id: RegId, result: Result<(), WorkError>) -> Option<Input<'static>> {
        let registration = self.state().registrations.get_mut(&id)?;
        registration.error = registration.error.or(result.err());
        registration.requests -= 1;
        if registration.requests > 0 {
            return None;
        }
        let (error, invalidating) = (registration.error, registration.invalidating);
        if error.is_some() || invalidating {
            self.close(id);
        }
        Some(match error {
            Some(error) => Input::Failed { id: id.into(), error },
            None if invalidating => Input::Deregistered { id },
            None => Input::Bound { id },
        })
    }
}

impl ReceiveMemory for SimEnd<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        let end = &self.net.ends[self.index];
        let len = end.lengths.get(&id.slot()).copied().unwrap_or(0);
        &end.nic.received(id)[..len]
    }
}

impl Backend for SimEnd<'_> {
    type Buffer = SimBuffer;

    fn now(&self) -> Instant {
        self.net.now
    }

    fn execute(&mut self, step: Step<'_, SimBuffer>) {
        match step {
            Step::Connect | Step::Accept => self.state().link = Link::Waiting(self.net.now),
            Step::Disconnect => self.disconnect(),
            Step::PostRecv { id, len } => {
                if !self.is_refused(id.into()) {
                    let end = self.state();
                    if let Err(refused) = end.nic.post_recv(id, len) {
                        end.refusing = true;
                        end.fail(id, WorkError::Refused { errno: refused.0 });
                    }
                }
            }
            Step::PostSend { id, head, body, invalidate, signal, solicit: _ } => {
                let (range, buffer) = match &body {
                    None => (None, None),
                    Some(Payload::Copy(bytes)) => {
                        let buffer = Rc::new(self.host().nic.buffers.alloc_with(bytes));
                        self.host().memory.push(Rc::clone(&buffer));
                        (self.host().nic.buffers.whole(*buffer), Some(buffer))
                    }
                    Some(Payload::InPlace(local)) => (self.range(local), Some(Rc::clone(local.buffer))),
                };
                if range.is_none() && body.is_some() {
                    return self.state().fail(id, WorkError::LocalProtection);
                }
                let operation = Operation::Send { head: *head, body: range, invalidate };
                if self.post(SendWork { id: id.into(), operation, signal }) {
                    self.state().held.extend(buffer.map(|buffer| (id.into(), buffer)));
                }
            }
            Step::PostRdma { id, verb, local, remote } => {
                let Some(range) = self.range(&local) else {
                    return self.state().fail(id, WorkError::LocalProtection);
                };
                let operation = Operation::Rdma { verb, local: range, remote };
                if self.post(SendWork { id: id.into(), operation, signal: true }) {
                    self.state().held.insert(id.into(), Rc::clone(local.buffer));
                }
            }
            Step::Register { id, buffer, access, segments_max } => {
                self.register(id, buffer, access, segments_max);
            }
            Step::Deregister { id, segments } => self.deregister(id, segments),
        }
    }

    /// The device takes requests one by one.
    fn ring(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        // Receives first: what a message brought comes before what follows from it.
        if let Some(done) = self.state().nic.poll_recv() {
            return Some(self.received_input(done));
        }
        if let Some(connected) = self.state().news.poll_connected() {
            return Some(connected);
        }
        if let Some(out) = self.state().out.pop_front() {
            return Some(match out {
                Out::Input(input) => input,
                Out::Registered { id, segments, settled } => {
                    let end = self.state();
                    end.reported = segments;
                    Input::Registered { id, segments: &end.reported, settled }
                }
            });
        }
        while let Some(done) = self.state().nic.poll_send() {
            if let Some(input) = self.sent_input(done) {
                return Some(input);
            }
        }
        self.state().news.poll_end()
    }
}

impl HostMemory for SimEnd<'_> {
    fn allocate(&mut self, len: u32) -> Result<SimBuffer, OutOfMemory> {
        let host = self.host();
        let buffer = Rc::new(host.nic.buffers.alloc(len));
        host.memory.push(Rc::clone(&buffer));
        Ok(buffer)
    }

    fn fill(&mut self, buffer: &SimBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let memory = self.host().nic.buffers.bytes_mut(**buffer);
        part(memory.len(), offset, bytes.len()).map(|range| memory[range].copy_from_slice(bytes))
    }

    fn read(&self, buffer: &SimBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let memory = self.net.ends[self.index % 2].nic.buffers.bytes(**buffer);
        part(memory.len(), offset, out.len()).map(|range| out.copy_from_slice(&memory[range]))
    }
}

fn part(size: usize, offset: u32, len: usize) -> Result<std::ops::Range<usize>, OutOfRange> {
    let start = usize::try_from(offset).unwrap();
    let refused = OutOfRange { offset, len: u64::try_from(len).unwrap(), size: u32::try_from(size).unwrap() };
    start.checked_add(len).filter(|end| *end <= size).map(|end| start..end).ok_or(refused)
}
