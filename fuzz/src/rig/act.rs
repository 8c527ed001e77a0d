//! Steps, carried out.

use std::sync::Arc;
use std::time::Duration;

use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Close, Connection, Input, Limits, RdmaVerb, RegId, Token, WrId};
use smbd_sim::CommandRefused;
use smbd_sim::memory::Range;
use smbd_sim::probe::Command;

use super::hear::Said;
use super::step::{Forged, Kind, Step};
use super::{Registering, Rig, Setup};

impl Rig {
    /// One step.
    pub fn step(&mut self, setup: &Setup, step: &Step) {
        match *step {
            Step::Poll(count) => (0..count).take_while(|_| self.poll()).for_each(drop),
            Step::Drain => self.drain(),
            Step::Pass(micros) => self.now = self.now.saturating_add(Duration::from_micros(micros.into())),
            Step::Due { early } => self.due(early),
            Step::Timeout => self.time_out(),
            Step::Hear { at, ref said, invalidates } => self.hear(at, said, invalidates),
            Step::Listen { credits, lens } => self.listen(credits, lens),
            Step::Complete { kind, count } => (0..count).take_while(|_| self.complete(kind)).for_each(drop),
            Step::Fail { kind, error } => self.fail(kind, work_error(error)),
            Step::Forge { raw, kind } => self.forge(raw, kind),
            Step::Connected => self.connected(setup.limits()),
            Step::ConnectFailed { reason } => self.connect_failed(reason),
            Step::Disconnected => self.disconnected(self.drawn_reason()),
            Step::Send { len, invalidate } => {
                self.send(len, invalidate.map(|n| Token(0x8000_0000 | u32::from(n))))
            }
            Step::Rdma { write, len, offset, ref remote } => self.rdma(write, len, offset, remote),
            Step::Register { access, segments } => self.register(access, segments),
            Step::Deregister { at } => self.deregister(at),
            Step::Release { at } => self.release(at),
            Step::Probe => self.probe(),
            Step::Close { flush } => self.close(flush),
        }
    }

    fn due(&mut self, early: bool) {
        let Some(at) = self.deadline else { return };
        let at = if early { smbd_core::Instant::from_nanos(at.as_nanos().saturating_sub(1)) } else { at };
        self.now = self.now.max(at);
        self.time_out();
    }

    /// If a timer ends the connection, it says so at once: from outside nobody can see that it has ended, and the laws
    /// would hold what comes next against it.
    fn time_out(&mut self) {
        self.tell(Input::Timeout);
        if self.is_over() {
            self.drain();
        }
    }

    fn listen(&mut self, credits: u8, lens: [u16; 4]) {
        for len in lens {
            self.hear(0, &Said::Good { credits, len, more: len.is_multiple_of(3), asks: false }, None);
            self.drain();
        }
    }

    /// The next work of a kind is complete; whether there was any.
    pub(super) fn complete(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::Send => self.sends.pop_front().map(|id| (id.into(), Input::Sent { id })),
            Kind::Rdma => self.rdma.pop_front().map(|id| (id.into(), Input::RdmaDone { id })),
            // A receive is complete with a message.
            Kind::Recv => None,
            Kind::Register => return self.registered(),
            Kind::Bind => self.binding.pop_front().map(|id| (id.into(), Input::BindComplete { id })),
            Kind::Deregister => {
                self.deregistering.pop_front().map(|id| (id.into(), Input::Deregistered { id }))
            }
        }
        .map(|(id, input): (WrId, _)| {
            self.past.push(id);
            self.tell(input);
        })
        .is_some()
    }

    fn registered(&mut self) -> bool {
        let Some(Registering { id, segments_max }) = self.registering.pop_front() else { return false };
        let count = segments_max.min(u16::try_from(self.next_token % 4).unwrap_or(0) + 1);
        let shared = self.next_token.is_multiple_of(2);
        let mut segments = Vec::new();
        for at in 0..u64::from(count) {
            self.next_token += u32::from(at == 0 || !shared);
            let token = Token(self.next_token);
            segments.push(BufferDescriptorV1 { offset: at << 20, token, length: 4096 });
        }
        self.tokens.extend(segments.iter().map(|segment| segment.token));
        self.tokens.dedup();
        let bind_complete = self.connection.limits().registration_requests == 0;
        self.tell(Input::Registered { id, segments: &segments, bind_complete });
        if !bind_complete {
            self.binding.push_back(id);
        }
        true
    }

    fn fail(&mut self, kind: Kind, error: WorkError) {
        let id: Option<WrId> = match kind {
            Kind::Send => self.sends.pop_front().map(Into::into),
            Kind::Rdma => self.rdma.pop_front().map(Into::into),
            Kind::Recv => self.recvs.pop_front().map(|(id, _)| id.into()),
            Kind::Register => self.registering.pop_front().map(|work| work.id.into()),
            Kind::Bind => self.binding.pop_front().map(Into::into),
            Kind::Deregister => self.deregistering.pop_front().map(Into::into),
        };
        let Some(id) = id else { return };
        self.past.push(id);
        self.tell(Input::Failed { id, error });
    }

    fn forge(&mut self, raw: Forged, kind: Kind) {
        let id = match raw {
            Forged::Again(n) => usize::from(n).checked_rem(self.past.len()).map(|at| self.past[at]),
            Forged::Raw(raw) => WrId::from_raw(raw),
        };
        let Some(id) = id.filter(|id| !self.is_outstanding(*id)) else { return };
        let segments = [BufferDescriptorV1 { offset: 0, token: Token(1), length: 1 }];
        let head = smbd_core::Head::of(&[0; 20]);
        let input = match (id, kind) {
            (WrId::Send(id), Kind::Send) => Input::Sent { id },
            (WrId::Rdma(id), Kind::Rdma) => Input::RdmaDone { id },
            (WrId::Recv(id), Kind::Recv) => Input::Received { id, head, len: 20, invalidated: None },
            (WrId::Reg(id), Kind::Register) => {
                Input::Registered { id, segments: &segments, bind_complete: true }
            }
            (WrId::Reg(id), Kind::Bind) => Input::BindComplete { id },
            (WrId::Reg(id), Kind::Deregister) => Input::Deregistered { id },
            (id, _) => Input::Failed { id, error: WorkError::Flushed },
        };
        assert!(!self.tell(input), "{input:?} is made up, and was taken");
    }

    /// Work that has not come back, or a registration that lives: its name is not made up.
    fn is_outstanding(&self, id: WrId) -> bool {
        let is_reg = |known: &RegId| WrId::from(*known) == id;
        self.sends.iter().any(|known| WrId::from(*known) == id)
            || self.rdma.iter().any(|known| WrId::from(*known) == id)
            || self.recvs.iter().any(|(known, _)| WrId::from(*known) == id)
            || self.registering.iter().any(|work| is_reg(&work.id))
            || self.binding.iter().any(is_reg)
            || self.deregistering.iter().any(is_reg)
    }

    pub(super) fn connected(&mut self, limits: Limits) {
        self.tell(Input::Connected { limits });
        self.link.connected |= self.link.started;
    }

    fn connect_failed(&mut self, reason: u8) {
        let reasons = [ConnectReason::Refused, ConnectReason::Unreachable, ConnectReason::TimedOut];
        let reason = reasons[usize::from(reason) % reasons.len()];
        self.link.over |= self.link.started && !self.link.connected;
        self.tell(Input::ConnectFailed { reason });
    }

    pub(super) fn disconnected(&mut self, reason: DisconnectReason) {
        self.link.over |= self.link.started || self.link.disconnect;
        self.tell(Input::Disconnected { reason });
    }

    /// A reason for the end. It comes of the time, which an input sets freely: a byte for it would give all that were found
    /// before another meaning.
    pub(super) fn drawn_reason(&self) -> DisconnectReason {
        let reasons = [
            DisconnectReason::PeerClosed,
            DisconnectReason::PeerAborted,
            DisconnectReason::Unreachable,
            DisconnectReason::DeviceFailed,
            DisconnectReason::Unknown,
            DisconnectReason::Local,
        ];
        let micros = self.now.as_nanos() / 1000;
        reasons[usize::try_from(micros % 6).unwrap_or(0)]
    }

    const fn range(&self, len: u32) -> Range {
        Range { buffer: self.buffer, offset: 0, len }
    }

    fn send(&mut self, len: u32, invalidate: Option<Token>) {
        // Most of them of a length that can be.
        let len = if len.is_multiple_of(16) { len } else { len % 10_000 };
        let unsignalled = self.unsignalled;
        let send = if unsignalled { Connection::send_unsignalled } else { Connection::send };
        let result = send(&mut self.connection, self.now, len, invalidate).map_err(CommandRefused::from);
        self.note(&Command::Send { range: self.range(len), invalidate, unsignalled, result });
    }

    fn rdma(&mut self, write: bool, len: u32, offset: u8, remote: &[(u16, u16)]) {
        let verb = if write { RdmaVerb::Write } else { RdmaVerb::Read };
        let descriptor = |(at, (offset, length)): (usize, &(u16, u16))| BufferDescriptorV1 {
            offset: u64::from(*offset) << (at % 49),
            token: Token(u32::try_from(at).unwrap_or(0)),
            length: u32::from(*length),
        };
        let remote: Arc<[_]> = remote.iter().take(40).enumerate().map(descriptor).collect();
        let offset = u64::from(offset);
        let sum: u64 = remote.iter().map(|descriptor| u64::from(descriptor.length)).sum();
        // Most of them of a length that is there.
        let len = match u32::try_from(sum.saturating_sub(offset)) {
            Ok(most) if !len.is_multiple_of(16) => len.checked_rem(most.saturating_add(1)).unwrap_or(0),
            _ => len,
        };
        // Of the lengths that are as good as drawn.
        let unsignalled = len % 4 == 1;
        let rdma = if unsignalled { Connection::rdma_unsignalled } else { Connection::rdma };
        let result = rdma(&mut self.connection, self.now, verb, len, Arc::clone(&remote), offset);
        let result = result.map_err(CommandRefused::from);
        let local = self.range(len);
        self.note(&Command::Rdma { verb, local, remote: &remote, offset, unsignalled, result });
    }

    fn register(&mut self, access: u8, segments: u8) {
        let access = [Access::Read, Access::Write, Access::ReadWrite][usize::from(access % 3)];
        let segments_max = u16::from(segments % 16);
        let result = self.connection.register(self.now, access, segments_max).map_err(CommandRefused::from);
        self.note(&Command::Register { access, range: self.range(4096), segments_max, result });
    }

    fn deregister(&mut self, at: u8) {
        let Some(at) = usize::from(at).checked_rem(self.registered.len()) else { return };
        let id = self.registered[at];
        let result = self.connection.deregister(self.now, id).map_err(CommandRefused::from);
        self.note(&Command::Deregister { id, result });
    }

    fn release(&mut self, at: u8) {
        let Some(at) = usize::from(at).checked_rem(self.held.len()) else { return };
        let fragment = self.held.swap_remove(at);
        self.note(&Command::Release { fragment: &fragment });
        self.connection.release(self.now, fragment).expect("it is this connection's");
    }

    fn probe(&mut self) {
        let result = self.connection.probe(self.now).map_err(CommandRefused::from);
        self.note(&Command::Probe { result });
    }

    pub(super) fn close(&mut self, flush: Option<u16>) {
        let until = |micros: u16| self.now.saturating_add(Duration::from_micros(micros.into()));
        let how = flush.map_or(Close::Abort, |micros| Close::Flush { until: until(micros) });
        self.note(&Command::Close(how));
        self.connection.close(self.now, how);
    }

    pub(super) fn release_all(&mut self) {
        while !self.held.is_empty() {
            self.release(0);
        }
    }
}

fn work_error(n: u8) -> WorkError {
    let errors = [
        WorkError::Flushed,
        WorkError::PostFailed { errno: 12 },
        WorkError::ReceiverNotReady,
        WorkError::RetryExceeded,
        WorkError::RemoteAccess,
        WorkError::RemoteOperation,
        WorkError::RemoteInvalidRequest,
        WorkError::LocalLength,
        WorkError::LocalProtection,
        WorkError::LocalOperation,
        WorkError::Other(7),
    ];
    errors[usize::from(n) % errors.len()]
}
