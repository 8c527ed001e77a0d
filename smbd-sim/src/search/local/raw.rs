//! A scripted peer: rules for credits of its own, and the minimum of the protocol.

use std::hash::{Hash, Hasher};

use smbd_core::error::DisconnectReason;
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse, NtStatus};
use smbd_core::{Action, Head, Input, Instant, WrId};

use super::credits::{Ledger, Pending};
use super::host::made_up;
use super::{Given, Own, View, later};
use crate::Side;
use crate::oracle::{Failure, Law};
use crate::probe::{At, Probe};
use crate::search::setup::{Do, Peer, Raw, Setup};
use crate::search::wire::{Message, Out, Packet, Payload, Word};

const SIZE: u32 = 128;
const FRAGMENTED: u32 = 131_072;

#[derive(Clone, Debug)]
pub(in crate::search) struct RawPeer {
    side: Side,
    script: Raw,
    ledger: Ledger,
    /// Its messages, as far as they are commanded.
    commanded: usize,
    expected: usize,
    received: (usize, u32),
    negotiated: bool,
    up: bool,
    ended: bool,
    now: Instant,
    /// Names for traces.
    names: u32,
    failure: Option<Failure>,
}

impl RawPeer {
    pub(super) fn new(setup: &Setup, script: &Raw, side: Side, now: Instant) -> Self {
        let expected = match &setup.peers[side.peer().index()] {
            Peer::Core(core) => core.script.iter().filter(|d| matches!(d, Do::Send { .. })).count(),
            Peer::Raw(raw) => raw.messages.len(),
        };
        Self {
            side,
            ledger: Ledger::new(script.rules, script.receives),
            script: script.clone(),
            commanded: 0,
            expected,
            received: (0, 0),
            negotiated: false,
            up: side == Side::Acceptor,
            ended: false,
            now,
            names: 0,
            failure: None,
        }
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }

    #[cfg(test)]
    pub(super) const fn side(&self) -> Side {
        self.side
    }

    fn at(&self) -> At {
        At { now: self.now, side: self.side }
    }

    fn fail(&mut self, law: Law, what: String) {
        let at = self.at();
        self.failure.get_or_insert(Failure { law, at, what });
    }

    pub(super) fn begin(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        let (action, word) = match self.side {
            Side::Initiator => (Action::Connect, Word::Request),
            Side::Acceptor => (Action::Accept, Word::Accepted),
        };
        seen.action(self.at(), &action);
        out.push(Out::Word(word));
        seen.action(self.at(), &Action::Wait(None));
    }

    pub(super) fn give(&mut self, given: Given<'_>, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        match given {
            Given::Elapse(nanos) => {
                self.now = later(self.now, nanos);
                return;
            }
            Given::Packet(Packet::Message(message)) => self.receive(message, out, seen),
            Given::Accepted => {
                self.up = true;
                self.ask(out, seen);
            }
            Given::Gone => {
                self.ended = true;
                seen.input(self.at(), &Input::Disconnected { reason: DisconnectReason::Unknown }, Ok(()));
            }
            Given::Own(Own::Command) => {
                let number = u32::try_from(self.commanded).unwrap_or(u32::MAX);
                if let Some(len) = self.script.messages.get(self.commanded).copied() {
                    self.commanded += 1;
                    let payload = Payload { msg: number, offset: 0, len, total: len, tells: None };
                    self.ledger.send(Some(payload));
                    self.speak(out, seen);
                }
            }
            Given::Packet(Packet::Write(_) | Packet::Read(_))
            | Given::Answer
            | Given::Request
            | Given::Down
            | Given::Own(_) => {}
        }
        seen.action(self.at(), &Action::Wait(None));
    }

    /// The initiator's negotiation message.
    fn ask(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        let request = NegotiateRequest {
            min_version: 0x0100,
            max_version: 0x0100,
            credits_requested: self.script.requested,
            preferred_send_size: SIZE,
            max_receive_size: SIZE,
            max_fragmented_size: FRAGMENTED,
        };
        let mut bytes = [0; 32];
        let len = request.encode(&mut bytes).unwrap_or(0);
        self.say(&bytes[..len], None, (0, false), out, seen);
    }

    fn answer(&mut self, granted: u16, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        let response = NegotiateResponse {
            min_version: 0x0100,
            max_version: 0x0100,
            negotiated_version: 0x0100,
            credits_requested: self.script.requested,
            credits_granted: granted,
            status: NtStatus(0),
            max_read_write_size: 0,
            preferred_send_size: SIZE,
            max_receive_size: SIZE,
            max_fragmented_size: FRAGMENTED,
        };
        let mut bytes = [0; 32];
        let len = response.encode(&mut bytes).unwrap_or(0);
        self.say(&bytes[..len], None, (granted, false), out, seen);
    }

    fn say(
        &mut self,
        head: &[u8],
        payload: Option<Payload>,
        (granted, spends): (u16, bool),
        out: &mut Vec<Out>,
        seen: &mut dyn Probe,
    ) {
        if let Some(WrId::Send(id)) = made_up(2, self.names) {
            let head = Head::of(head);
            let shown =
                Action::PostSend { id, head, body: None, invalidate: None, signal: false, solicit: false };
            seen.action(self.at(), &shown);
        }
        self.names += 1;
        let message = Message { head: head.to_vec(), payload, invalidate: None, granted, spends };
        out.push(Out::Packet(Packet::Message(message)));
    }

    /// All that may be sent.
    fn speak(&mut self, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        while let Some(Pending { payload, granted }) = self.ledger.next() {
            let header = DataTransfer {
                credits_requested: self.script.requested,
                credits_granted: granted,
                data_offset: if payload.is_some() { 24 } else { 0 },
                data_length: payload.map_or(0, |p| p.len),
                ..DataTransfer::default()
            };
            let mut bytes = [0; 24];
            let len = header.encode(&mut bytes).unwrap_or(0);
            let len = if payload.is_some() { 24 } else { len };
            self.say(&bytes[..len], payload, (granted, true), out, seen);
        }
    }

    fn receive(&mut self, message: &Message, out: &mut Vec<Out>, seen: &mut dyn Probe) {
        let len = message.len();
        if let Some(WrId::Recv(id)) = made_up(1, self.names) {
            let input = Input::Received { id, head: message.seen(), len, invalidated: None };
            seen.input(self.at(), &input, Ok(()));
        }
        self.names += 1;
        if !self.negotiated {
            return self.negotiate(&message.head, out, seen);
        }
        let Ok(header) = DataTransfer::parse(&message.head) else {
            return self.fail(Law::Wire, format!("a message of {len} bytes"));
        };
        if !self.ledger.receive() {
            return self.fail(Law::Device, "a message arrived with no receive posted".to_owned());
        }
        if let Some(payload) = message.payload {
            let (whole, bytes) = self.received;
            if payload.msg as usize != whole || payload.offset != bytes {
                self.fail(
                    Law::Delivery,
                    format!("{payload:?} came, due was byte {bytes} of message {whole}"),
                );
            }
            let end = payload.offset + payload.len;
            self.received = if end == payload.total { (whole + 1, 0) } else { (whole, end) };
        }
        let asks = header.flags.contains(Flags::RESPONSE_REQUESTED);
        self.ledger.process(header.credits_requested, header.credits_granted, asks);
        self.speak(out, seen);
    }

    fn negotiate(&mut self, head: &[u8], out: &mut Vec<Out>, seen: &mut dyn Probe) {
        self.negotiated = true;
        match self.side {
            Side::Acceptor => match NegotiateRequest::parse(head) {
                Ok(request) => {
                    let granted = self.ledger.accept(request.credits_requested);
                    self.answer(granted, out, seen);
                    self.ledger.established();
                    self.speak(out, seen);
                }
                Err(error) => self.fail(Law::Wire, error.to_string()),
            },
            Side::Initiator => match NegotiateResponse::parse(head) {
                Ok(response) => {
                    self.ledger.connected(response.credits_requested, response.credits_granted);
                    self.ledger.established();
                    self.speak(out, seen);
                }
                Err(error) => self.fail(Law::Wire, error.to_string()),
            },
        }
    }

    pub(super) fn view(&self) -> View {
        let more = self.negotiated && !self.ended && self.commanded < self.script.messages.len();
        View {
            own: if more { Own::Command.bit() } else { 0 },
            hears: !self.ended,
            ends: !self.ended,
            knows: true,
            awaits: !self.ended && !self.up,
            // It never closes: it is done when it has all.
            over: self.ended || (self.negotiated && self.missing().is_none()),
            credits: self.negotiated.then(|| self.ledger.on_the_wire()),
            ..View::default()
        }
    }

    pub(super) fn missing(&self) -> Option<String> {
        let complete = self.commanded == self.script.messages.len() && self.received == (self.expected, 0);
        (!complete).then(|| format!("{} of {} messages received", self.received.0, self.expected))
    }

    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        self.ledger.hash(into);
        (self.side, self.commanded, self.received, self.negotiated, self.up, self.ended).hash(into);
    }
}
