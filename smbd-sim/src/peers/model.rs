//! A model of a peer: a [`Line`], rules for credits and timers, and an upper layer that sends and receives.

use std::collections::VecDeque;
use std::fmt::Debug;

use smbd_core::Instant;

use super::line::{Arrived, Line, ModelParams, Order, Phase, Segment};
use super::work::{Opening, ReceiveScript, ScriptedMessage, TransmitScript};
use crate::Side;

/// What tells one kind of peer from another: which receives it posts, what it grants, when it sends, and its timers.
pub(super) trait Rules: Debug {
    /// Receive buffers it has.
    fn buffers(&self, params: &ModelParams) -> u16;

    /// Acceptor: the request is in, asking for so many credits. What the response grants.
    fn on_request(&mut self, line: &mut Line, credits_requested: u16) -> u32;

    /// Initiator: the response is in.
    fn on_response(&mut self, line: &mut Line, credits_requested: u16, credits_granted: u16);

    /// A Data Transfer message is in. Its payload is no concern of the rules, its receive buffer is free again, or will be
    /// when the upper layer has [`read`](Self::on_read) the message.
    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>);

    /// Whether receive buffers are held until the upper layer reads the message.
    fn holds_receives(&self) -> bool {
        false
    }

    /// The upper layer has read a message: so many receive buffers are free.
    fn on_read(&mut self, _: &mut Line, _freed: u32) {}

    /// The upper layer sends a message.
    fn send(&mut self, line: &mut Line, segments: Vec<Segment>);

    /// A send is complete.
    fn on_sent(&mut self, _: &mut Line) {}

    /// When [`on_time`](Self::on_time) is to be called.
    fn deadline(&self) -> Option<Instant>;

    /// When its idle timer runs out.
    fn idle_deadline(&self) -> Option<Instant>;

    /// That time has come.
    fn on_time(&mut self, line: &mut Line);

    /// Its variables, for whoever wonders why nothing moves.
    fn state(&self) -> String {
        format!("{self:?}")
    }
}

/// A message that is complete and waits for its reader.
#[derive(Debug)]
struct Unread {
    at: Instant,
    bytes: Vec<u8>,
    slots: Vec<u16>,
}

/// A model of a peer.
#[derive(Debug)]
pub(super) struct Model {
    line: Line,
    rules: Box<dyn Rules>,
    buffers: u16,
    transmit: TransmitScript,
    receive: ReceiveScript,
    unread: VecDeque<Unread>,
    /// Receive buffers of the message that is not complete.
    held: Vec<u16>,
}

impl Model {
    /// A peer that has not begun, and says and hears this.
    pub(super) fn new(
        side: Side,
        params: ModelParams,
        rules: Box<dyn Rules>,
        opening: Opening,
        says: &[ScriptedMessage],
        hears: &[ScriptedMessage],
    ) -> Self {
        let buffers = rules.buffers(&params);
        Self {
            line: Line::new(side, params, buffers),
            rules,
            buffers,
            transmit: TransmitScript::new(says, opening),
            receive: ReceiveScript::new(hears),
            unread: VecDeque::new(),
            held: Vec::new(),
        }
    }

    /// Receive buffers it has.
    pub(super) const fn buffers(&self) -> u16 {
        self.buffers
    }

    pub(super) fn start(&mut self) {
        self.line.start();
    }

    pub(super) fn next_order(&mut self) -> Option<Order> {
        self.line.next_order()
    }

    pub(super) const fn phase(&self) -> Phase {
        self.line.phase
    }

    /// Everything was said and heard.
    pub(super) fn is_done(&self) -> bool {
        self.transmit.left() == 0 && self.receive.left() == 0
    }

    /// All that the connection's side has said was heard.
    pub(super) fn has_heard_all(&self) -> bool {
        self.receive.left() == 0
    }

    /// One thing more will be said to it.
    pub(super) fn expect(&mut self, scripted: ScriptedMessage) {
        self.receive.add(scripted);
    }

    /// What its upper layer found wrong.
    pub(super) fn wrong(&self) -> Option<&str> {
        self.receive.wrong.as_deref()
    }

    /// Data Transfer messages sent.
    pub(super) const fn sent(&self) -> u64 {
        self.line.sent
    }

    pub(super) fn idle_deadline(&self) -> Option<Instant> {
        self.rules.idle_deadline()
    }

    /// What is left, and the variables of its rules.
    pub(super) fn left(&self) -> String {
        let (to_say, to_hear) = (self.transmit.left(), self.receive.left());
        format!(
            "{to_say} messages to send, {to_hear} to hear, {} unread; {}",
            self.unread.len(),
            self.rules.state()
        )
    }

    pub(super) fn on_connected(&mut self, now: Instant) {
        self.line.now = now;
        self.line.on_connected();
    }

    pub(super) fn on_lost(&mut self) {
        self.line.on_lost();
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        self.line.now = now;
        if self.line.phase == Phase::Established {
            self.rules.on_sent(&mut self.line);
        }
    }

    pub(super) fn on_received(&mut self, now: Instant, slot: u16, message: &[u8]) {
        self.line.now = now;
        match self.line.phase {
            Phase::Negotiating => self.on_negotiation(slot, message),
            Phase::Established => self.on_data(slot, message),
            Phase::Over(_) => {}
        }
    }

    /// 3.1.5.6, 3.1.5.7: the role is ESTABLISHED before anything else can come (NE-8).
    fn on_negotiation(&mut self, slot: u16, message: &[u8]) {
        self.line.give_back(slot);
        match self.line.side {
            Side::Acceptor => {
                let Some(requested) = self.line.on_request(message) else { return };
                let granted = self.rules.on_request(&mut self.line, requested);
                self.line.send_response(granted);
                self.line.phase = Phase::Established;
            }
            Side::Initiator => {
                let Some((requested, granted)) = self.line.on_response(message) else { return };
                self.line.phase = Phase::Established;
                self.rules.on_response(&mut self.line, requested, granted);
            }
        }
        self.transmit.begin(self.line.now);
    }

    fn on_data(&mut self, slot: u16, message: &[u8]) {
        let arrived = match self.line.check(message) {
            Ok(arrived) => arrived,
            Err(why) => return self.line.end(why),
        };
        if self.rules.holds_receives() && arrived.header.data_length > 0 {
            self.held.push(slot);
        } else {
            self.line.give_back(slot);
        }
        self.rules.on_data(&mut self.line, &arrived);
        match self.line.assemble(&arrived) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let at = self.line.now.saturating_add(self.line.params.reading);
                let slots = std::mem::take(&mut self.held);
                self.unread.push_back(Unread { at, bytes, slots });
                self.read();
            }
            Err(why) => self.line.end(why),
        }
    }

    /// The upper layer reads what it has had long enough.
    fn read(&mut self) {
        while let Some(unread) = self.unread.front().filter(|unread| unread.at <= self.line.now) {
            self.receive.hear(&unread.bytes, 0);
            if self.receive.count == 1 {
                self.transmit.heard(self.line.now);
            }
            let Some(Unread { slots, .. }) = self.unread.pop_front() else { return };
            let freed = u32::try_from(slots.len()).unwrap_or(u32::MAX);
            if freed > 0 {
                for slot in slots {
                    self.line.give_back(slot);
                }
                self.rules.on_read(&mut self.line, freed);
            }
        }
    }

    /// When [`on_time`](Self::on_time) is to be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.line.phase != Phase::Established {
            return None;
        }
        let unread = self.unread.front().map(|unread| unread.at);
        [self.transmit.next(), unread, self.rules.deadline()].into_iter().flatten().min()
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        self.line.now = now;
        self.read();
        while self.line.phase == Phase::Established
            && let Some(scripted) = self.transmit.due(now)
        {
            self.transmit.said(now);
            let segments = self.line.segments(scripted.key, scripted.len);
            self.rules.send(&mut self.line, segments);
        }
        if self.line.phase == Phase::Established && self.rules.deadline().is_some_and(|at| at <= now) {
            self.rules.on_time(&mut self.line);
        }
    }
}
