//! A connection, its device and its upper layer.

mod actions;
mod inputs;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{Config, ConfigError, Connection, Input, Instant, Limits, PhaseName, RdmaVerb, WrId};

use super::device::{Device, Notice, State};
use super::upper::Upper;
use super::{Given, Own, View, later};
use crate::Side;
use crate::oracle::{Failure, Law, Lone};
use crate::probe::{At, Probe};
use crate::search::setup::{Core, Do, Peer, Setup, Tamper};
use crate::search::wire::{Out, Packet};

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
            reads_in_order: true,
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

    #[cfg(test)]
    pub(super) fn side(&self) -> Side {
        self.fixed.side
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
                // Which reason it has changes nothing but a word: one is enough for closes and losses alike.
                let input = if self.link.connected {
                    Input::Disconnected { reason: DisconnectReason::Unknown }
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
            Own::RegistrationFails => self.registration_fails(WorkError::PostFailed { errno: 12 }, seen),
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
                self.input(Input::Disconnected { reason: DisconnectReason::Local }, seen);
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

/// Names of work, for what has none of its own.
pub(super) fn made_up(kind: u64, number: u32) -> Option<WrId> {
    WrId::from_raw(kind << 56 | u64::from(number) << 16)
}
