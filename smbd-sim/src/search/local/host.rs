//! A connection, its device and its upper layer.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{
    Action, Body, Config, ConfigError, Connection, Event, Head, Input, Instant, Limits, PhaseName, RdmaVerb,
    WrId,
};

use super::device::{Device, Kind, Notice, State, Work};
use super::upper::{Held, Upper};
use super::{Given, Own, View, later};
use crate::Side;
use crate::oracle::{Failure, Law, Lone};
use crate::probe::{At, Probe};
use crate::search::setup::{Core, Do, Peer, Setup, Tamper};
use crate::search::wire::{Message, Out, Packet, Payload, Word};

/// More actions than any of these connections has reason for.
const ACTIONS_MAX: u32 = 10_000;
/// Bytes of a registered buffer.
pub(super) const BUFFER_LEN: u32 = 64;

/// What happened to the transport connection.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Link {
    started: bool,
    /// The device is connected; the acceptor's connection may not know.
    up: bool,
    connected: bool,
    disconnected: bool,
    ended: bool,
}

/// What does not change.
#[derive(Debug)]
struct Fixed {
    limits: Limits,
    recv_queue: usize,
    windows: bool,
    eager: bool,
    hold: usize,
    batches: bool,
    registrations_fail: bool,
    tamper: Option<Tamper>,
    side: Side,
}

#[derive(Clone, Debug)]
pub(in crate::search) struct Host {
    fixed: Arc<Fixed>,
    pub(super) connection: Connection,
    pub(super) oracle: Lone,
    device: Device,
    pub(super) upper: Upper,
    link: Link,
    deadline: Option<Instant>,
    pub(super) now: Instant,
    /// The latest time the connection was told.
    pub(super) told: Instant,
    /// Inputs came, and what follows from them was not asked for yet.
    undrained: bool,
    drained: bool,
}

impl Host {
    pub(super) fn new(setup: &Setup, core: &Core, side: Side, now: Instant) -> Result<Self, ConfigError> {
        let config = Config::try_from(core.params.clone())?;
        let budget = config.budget();
        let queue = u16::try_from(budget.send_queue).unwrap_or(u16::MAX);
        let limits = Limits {
            read_depth: config.read_depth,
            send_queue: core.send_queue.unwrap_or(queue),
            rdma_len_max: u32::MAX,
            registration_requests: u16::from(core.windows),
            send_with_invalidate: true,
        };
        let expected = match &setup.peers[side.peer().index()] {
            Peer::Core(peer) => peer.script.iter().filter(|d| matches!(d, Do::Send { .. })).count(),
            Peer::Raw(peer) => peer.messages.len(),
        };
        let fixed = Fixed {
            limits,
            recv_queue: budget.recv_queue as usize,
            windows: core.windows,
            eager: core.eager,
            hold: core.hold,
            batches: setup.batches,
            registrations_fail: setup.registrations_fail,
            tamper: setup.tamper.filter(|_| side == Side::Initiator),
            side,
        };
        Ok(Self {
            fixed: Arc::new(fixed),
            connection: Connection::new(side.into(), &config, now),
            oracle: Lone::new(side, &config),
            device: Device::new(if side == Side::Initiator { 0x1000 } else { 0x2000 }),
            upper: Upper::new(core.script.clone().into(), expected),
            link: Link::default(),
            deadline: None,
            now,
            told: now,
            undrained: false,
            drained: false,
        })
    }

    pub(super) fn at(&self) -> At {
        At { now: self.now, side: self.fixed.side }
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.oracle.failure().cloned()
    }

    pub(super) fn fail(&mut self, law: Law, what: String) {
        self.oracle.check(self.at(), law, false, || what);
    }

    pub(super) fn begin(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        self.drain(out, seen);
    }

    pub(super) fn give(&mut self, given: Given<'_>, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        match given {
            Given::Elapse(nanos) => {
                self.now = later(self.now, nanos);
                return;
            }
            Given::Packet(Packet::Message(message)) => self.receive(message, seen),
            Given::Packet(Packet::Write(part)) => {
                let allowed = self.device.access(RdmaVerb::Write, *part);
                return self.check_access(allowed, "RDMA Write", part);
            }
            Given::Packet(Packet::Read(part)) => {
                let allowed = self.device.access(RdmaVerb::Read, *part);
                self.check_access(allowed, "RDMA Read", part);
                return out.push(Out::Answer);
            }
            Given::Answer => {
                let asked = self.device.answer();
                self.oracle.check(self.at(), Law::Rdma, asked, || "an answer to no RDMA Read".to_owned());
                return;
            }
            Given::Accepted => {
                self.device.state = State::Ready;
                self.link.up = true;
                self.on_connected(seen);
            }
            Given::Gone => {
                self.link.ended = true;
                let input = if self.link.connected {
                    Input::Disconnected
                } else {
                    Input::ConnectFailed { reason: ConnectReason::TimedOut }
                };
                self.input(input, seen);
            }
            Given::Down => {
                self.device.state = State::Down;
                return;
            }
            // It has come already.
            Given::Request => return,
            Given::Own(own) => return self.do_own(own, out, seen),
        }
        self.settle(out, seen);
    }

    fn do_own(&mut self, own: Own, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        match own {
            Own::Drain => return self.drain(out, seen),
            Own::Connected => self.on_connected(seen),
            Own::Complete => self.complete(seen),
            Own::Registered => self.registered(seen),
            Own::Deregistered => {
                if let Some((id, _)) = self.device.notices.pop_front() {
                    self.device.forget(id);
                    self.input(Input::Deregistered { id }, seen);
                }
            }
            Own::RegistrationFails => self.registration_fails(WorkError::Refused { errno: 12 }, seen),
            Own::Refused => self.registration_fails(WorkError::Flushed, seen),
            Own::Timeout => {
                self.deadline = None;
                self.input(Input::Timeout, seen);
            }
            Own::Wake => {
                self.upper.alarm = None;
                self.upper.move_on();
                if self.fixed.eager {
                    self.obey(seen);
                }
            }
            Own::Command => {
                self.command(seen);
                if self.fixed.eager {
                    self.obey(seen);
                }
            }
            Own::Release => self.release(seen),
            Own::Ended => {
                self.link.ended = true;
                self.input(Input::Disconnected, seen);
            }
            Own::FlushSends => {
                while let Some(work) = self.device.sends.pop_front() {
                    self.finish(work, Err(WorkError::Flushed), seen);
                }
            }
            Own::FlushReceives => {
                while let Some((id, _)) = self.device.recvs.pop_front() {
                    self.input(Input::Failed { id: id.into(), error: WorkError::Flushed }, seen);
                }
            }
        }
        self.settle(out, seen);
    }

    /// After inputs and commands.
    fn settle(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        if self.fixed.batches {
            self.undrained = true;
        } else {
            self.drain(out, seen);
        }
    }

    fn check_access(&mut self, allowed: bool, what: &str, part: &smbd_core::BufferDescriptorV1) {
        self.oracle
            .check(self.at(), Law::Tokens, allowed, || format!("{what} of {part:?}, which is not open"));
    }

    fn on_connected(&mut self, seen: &mut dyn Probe) {
        self.link.connected = true;
        self.input(Input::Connected { limits: self.fixed.limits }, seen);
    }

    fn input(&mut self, input: Input<'_>, seen: &mut dyn Probe) {
        let result = self.connection.handle(self.now, input);
        self.told = self.now;
        let at = self.at();
        seen.input(at, &input, result);
        self.oracle.input(at, &input, result);
        if let Err(misuse) = result {
            self.fail(Law::Device, format!("{input:?} refused: {misuse}"));
        }
    }

    fn receive(&mut self, message: &Message, seen: &mut dyn Probe) {
        let len = message.len();
        let Some((id, room)) = self.device.recvs.pop_front() else {
            return self.fail(Law::Device, "a message arrived with no receive posted".to_owned());
        };
        if len > room {
            return self.fail(Law::Device, format!("a message of {len} bytes met a receive of {room}"));
        }
        if let Some(token) = message.invalidate {
            let was = self.device.invalidate(token);
            self.oracle
                .check(self.at(), Law::Tokens, was, || format!("{token} invalidated, which is not in force"));
        }
        if let Some(payload) = message.payload {
            self.device.landed.push_back((id, payload));
        }
        self.input(Input::Received { id, head: message.seen(), len, invalidated: message.invalidate }, seen);
    }

    fn complete(&mut self, seen: &mut dyn Probe) {
        for _ in 0..self.device.completable().unwrap_or(0) {
            if let Some(work) = self.device.sends.pop_front() {
                self.finish(work, Ok(()), seen);
            }
        }
    }

    /// Work of the send queue has ended.
    fn finish(&mut self, work: Work, result: Result<(), WorkError>, seen: &mut dyn Probe) {
        let input = match (work.kind, result) {
            (Kind::Send(id), Ok(())) => Input::Sent { id },
            (Kind::Write(id) | Kind::Read { id, .. }, Ok(())) => Input::RdmaDone { id },
            (Kind::Bind(id), Ok(())) => {
                let Some(region) = self.device.region(id) else { return };
                region.bound = true;
                // Else it hears of both at once.
                if !region.told {
                    return;
                }
                Input::Bound { id }
            }
            (Kind::Invalidate(id), Ok(())) => {
                self.device.forget(id);
                Input::Deregistered { id }
            }
            (Kind::Bind(id), Err(error)) => {
                self.device.notices.retain(|(of, _)| *of != id);
                self.device.forget(id);
                Input::Failed { id: id.into(), error }
            }
            (kind, Err(error)) => Input::Failed { id: kind.id(), error },
        };
        self.input(input, seen);
    }

    fn registered(&mut self, seen: &mut dyn Probe) {
        let Some((id, _)) = self.device.notices.pop_front() else { return };
        let Some(region) = self.device.region(id) else { return };
        region.told = true;
        let (descriptor, settled) = (region.descriptor, region.bound);
        self.input(Input::Registered { id, segments: &[descriptor], settled }, seen);
    }

    fn registration_fails(&mut self, error: WorkError, seen: &mut dyn Probe) {
        let Some((id, _)) = self.device.notices.pop_front() else { return };
        self.device.forget(id);
        self.input(Input::Failed { id: id.into(), error }, seen);
    }

    /// Does what the connection says until it waits.
    fn drain(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        self.undrained = false;
        for _ in 0..ACTIONS_MAX {
            let mut action = self.connection.poll_action();
            if self.fixed.tamper == Some(Tamper::GrantsNothing) {
                ungrant(&mut action);
            }
            let at = self.at();
            seen.action(at, &action);
            let lost = self.fixed.tamper == Some(Tamper::ResultsLost)
                && matches!(action, Action::Notify(Event::Sent { .. }));
            if !lost {
                self.oracle.action(at, &action);
            }
            if let Action::Wait(deadline) = action {
                self.deadline = deadline;
                return;
            }
            if self.oracle.failure().is_some() {
                return;
            }
            self.execute(action, lost, out, seen);
        }
        self.fail(Law::Bounded, format!("{ACTIONS_MAX} actions without a wait"));
    }

    fn execute(&mut self, action: Action, lost: bool, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        match action {
            Action::Connect => {
                self.link.started = true;
                out.push(Out::Word(Word::Request));
            }
            Action::Accept => {
                self.link = Link { started: true, up: true, ..self.link };
                self.device.state = State::Ready;
                out.push(Out::Word(Word::Accepted));
            }
            Action::Disconnect => {
                self.link.disconnected = true;
                self.device.state = State::Down;
                out.push(Out::Word(Word::Gone));
            }
            Action::PostRecv { id, len } => {
                self.device.recvs.push_back((id, len));
                let (posted, most) = (self.device.recvs.len(), self.fixed.recv_queue);
                self.oracle.check(self.at(), Law::Device, posted <= most, || {
                    format!("{posted} receives in a queue of {most}")
                });
            }
            Action::PostSend { id, head, body, invalidate, signal, solicit: _ } => {
                let message = self.message(&head, body, invalidate);
                let again = self.fixed.tamper == Some(Tamper::SentTwice) && message.payload.is_some();
                self.post(Kind::Send(id), signal, Some(Packet::Message(message.clone())), out);
                if again {
                    out.push(Out::Packet(Packet::Message(message)));
                }
            }
            Action::PostRdma { id, verb, remote, .. } => match verb {
                RdmaVerb::Write => self.post(Kind::Write(id), true, Some(Packet::Write(remote)), out),
                RdmaVerb::Read => {
                    self.post(Kind::Read { id, answered: false }, true, Some(Packet::Read(remote)), out);
                }
            },
            Action::Register { id, access, .. } => {
                if self.device.state != State::Ready {
                    return self.device.notices.push_back((id, Notice::Refused));
                }
                self.device.open(id, access, BUFFER_LEN, !self.fixed.windows);
                self.device.notices.push_back((id, Notice::Registered));
                if self.fixed.windows {
                    self.post(Kind::Bind(id), true, None, out);
                }
            }
            Action::Deregister { id } => {
                let live = self.connection.live_segments(id).count();
                self.device.close(id);
                if self.fixed.windows && self.device.state == State::Ready && live > 0 {
                    self.post(Kind::Invalidate(id), true, None, out);
                } else {
                    self.device.notices.push_back((id, Notice::Deregistered));
                }
            }
            Action::Notify(_) if lost => {}
            Action::Notify(event) => self.notify(event, seen),
            // Ends the drain.
            Action::Wait(_) => {}
        }
    }

    fn post(&mut self, kind: Kind, signal: bool, packet: Option<Packet>, out: &mut Vec<Out>) {
        self.device.sends.push_back(Work { kind, signal });
        let (posted, most) = (self.device.sends.len(), usize::from(self.fixed.limits.send_queue));
        let state = self.device.state;
        self.oracle.check(self.at(), Law::Device, posted <= most && state != State::Idle, || {
            format!("{:?} is number {posted} in a queue of {most}, which is {state:?}", kind.id())
        });
        if state == State::Ready {
            out.extend(packet.map(Out::Packet));
        }
    }

    /// What goes on the wire for a send.
    fn message(&self, head: &Head, body: Option<Body>, invalidate: Option<smbd_core::Token>) -> Message {
        let mut bytes = head.as_bytes().to_vec();
        // A Negotiate Response is longer than any head of a data message, and a request has credits where data has zeros.
        let request = bytes.len() == 20 && bytes[6..8] != [0, 0];
        let negotiating = request || bytes.len() == 32;
        if self.fixed.tamper == Some(Tamper::GrantsNothingOnTheWire) && !negotiating {
            bytes[2..4].fill(0);
        }
        // 2.2.2 and 2.2.3.
        let at = if negotiating { 10 } else { 2 };
        let granted = if request { 0 } else { u16::from_le_bytes([bytes[at], bytes[at + 1]]) };
        let payload = body.map(|Body { msg, offset, len }| {
            let (total, tells) = self
                .upper
                .sent
                .get(msg.sequence() as usize)
                .copied()
                .unwrap_or((offset.saturating_add(len), None));
            Payload { msg: msg.sequence(), offset, len, total, tells }
        });
        Message { head: bytes, payload, invalidate, granted, spends: !negotiating }
    }

    fn notify(&mut self, event: Event, seen: &mut dyn Probe) {
        self.upper.on_event(&event);
        match event {
            Event::Data(fragment) => {
                let landed = self.device.landed.pop_front().filter(|(id, _)| *id == fragment.recv());
                let taken = match landed {
                    Some((_, payload)) => self.upper.take(&fragment, payload),
                    None => Err(format!("{fragment:?} handed up, which has not come")),
                };
                if let Err(wrong) = taken {
                    self.fail(Law::Delivery, wrong);
                }
                // Whoever uses it says so afterwards.
                let used = self.device.is_used() || !fragment.is_last();
                self.oracle
                    .check(self.at(), Law::Content, used, || "the answer came before the data".to_owned());
                self.upper.held.push_back(Held(fragment));
                if self.upper.held.len() > self.fixed.hold {
                    self.release(seen);
                }
            }
            Event::Drained => {
                self.drained = true;
                let (untold, empty) = (self.oracle.untold(), self.oracle.is_empty());
                let held = self.upper.held.len();
                self.oracle.check(self.at(), Law::Leaks, untold == 0 && empty && held == 0, || {
                    format!("Drained with {untold} commands without a result, {held} fragments held")
                });
            }
            _ => {}
        }
        if self.fixed.eager {
            self.obey(seen);
        }
    }

    /// All commands that can be given now.
    fn obey(&mut self, seen: &mut dyn Probe) {
        while self.upper.next().is_some() {
            self.command(seen);
        }
    }

    pub(super) fn view(&self) -> View {
        let Link { up, connected, disconnected, ended, started } = self.link;
        let open = !disconnected && !ended;
        let down = self.device.state == State::Down;
        let notice = self.device.notices.front().map(|(_, notice)| *notice);
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= self.now);
        let mut own = 0;
        let mut can = |step: Own, possible: bool| own |= if possible { step.bit() } else { 0 };
        can(Own::Drain, self.undrained);
        can(Own::Connected, up && !connected && open);
        can(Own::Complete, self.device.completable().is_some());
        can(Own::Registered, notice == Some(Notice::Registered));
        can(Own::Deregistered, notice == Some(Notice::Deregistered));
        let fails =
            self.fixed.registrations_fail && !self.fixed.windows && notice == Some(Notice::Registered);
        can(Own::RegistrationFails, fails);
        can(Own::Refused, notice == Some(Notice::Refused));
        can(Own::Timeout, due(self.deadline) && !self.undrained);
        can(Own::Wake, due(self.upper.alarm));
        can(Own::Command, self.upper.next().is_some());
        can(Own::Release, !self.upper.held.is_empty());
        can(Own::Ended, disconnected && !ended);
        can(Own::FlushSends, down && !self.device.sends.is_empty());
        can(Own::FlushReceives, down && !self.device.recvs.is_empty());
        let deadline = self.deadline.into_iter().chain(self.upper.alarm).min();
        View {
            own,
            unborn: false,
            hears: !down && open,
            ends: open && started,
            awaits: open && started && !up,
            knows: connected || !up,
            can_fall: !down && open && connected,
            over: self.drained,
            left: deadline.map(|at| at.as_nanos().saturating_sub(self.now.as_nanos())),
            credits: (self.connection.phase() == PhaseName::Established).then(|| {
                let credits = self.connection.credits();
                (credits.send(), credits.outstanding())
            }),
        }
    }

    pub(super) fn missing(&self) -> Option<String> {
        (!self.upper.is_complete()).then(|| self.upper.missing())
    }

    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        self.connection.fingerprint(self.now, into);
        self.now.saturating_since(self.told).hash(into);
        self.oracle.fingerprint(self.now, into);
        self.device.fingerprint(into);
        self.upper.fingerprint(self.now, into);
        (self.link, self.undrained, self.drained).hash(into);
        self.deadline.map(|at| at.saturating_since(self.now)).hash(into);
    }
}

/// Takes the grant out of a data message.
fn ungrant(action: &mut Action) {
    if let Action::PostSend { head, .. } = action
        && matches!(head.as_bytes(), [_, _, _, _, 0 | 1, 0, 0, 0, ..])
        && head.as_bytes().len() < 32
    {
        let mut bytes = head.as_bytes().to_vec();
        bytes[2..4].fill(0);
        *head = Head::of(&bytes);
    }
}

/// Names of work, for what has none of its own.
pub(super) fn made_up(kind: u64, number: u32) -> Option<WrId> {
    WrId::from_raw(kind << 56 | u64::from(number) << 16)
}
