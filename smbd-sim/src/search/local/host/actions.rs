//! Carries out the actions of the connection.

use smbd_core::{Action, Body, Event, Head, RdmaVerb, Token};

use super::super::device::{Kind, Notice, State, Work};
use super::super::upper::Held;
use super::{BUFFER_LEN, Host, Link};
use crate::oracle::Law;
use crate::probe::Probe;
use crate::search::setup::Tamper;
use crate::search::wire::{Message, Out, Packet, Payload, Word};

/// More actions than any of these connections has reason for.
const ACTIONS_MAX: u32 = 10_000;

impl Host {
    /// Does what the connection says until it waits.
    pub(super) fn drain(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
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
    fn message(&self, head: &Head, body: Option<Body>, invalidate: Option<Token>) -> Message {
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
    pub(super) fn obey(&mut self, seen: &mut dyn Probe) {
        while self.upper.next().is_some() {
            self.command(seen);
        }
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
