//! A client: one connection, from NEGOTIATE to its end.

mod buffers;
mod drive;
mod mischief;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Close, Instant, RegId};
use smbd_link::Messages;
use smbd_sim::Side;
use smbd_sim::loops::{Block, LoopEnd, Stage};
use smbd_smb2::wire::{Header, NegotiateResponse};

use crate::large;
use crate::owner::Shared;
use crate::plan::{ClientPlan, Leaves};
use crate::words::{Answer, Kind, Request, key, negotiate, pattern, setup};
use buffers::Buffers;
pub use drive::drive_to_end;
use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

/// Longer than the end of a connection may take.
const LONG: Duration = Duration::from_secs(600);
/// How long it waits for anybody to say something, if it may not be.
const PATIENCE: Duration = Duration::from_secs(400);

/// Longer than a broker waits for a client that says nothing.
const SILENCE: Duration = Duration::from_secs(60);

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    /// NEGOTIATE, or SESSION_SETUP, is sent.
    Beginning(usize),
    Working,
    Closing,
}

pub struct Client {
    shared: Rc<Shared>,
    plan: ClientPlan,
    /// The number of its devices.
    connection: usize,
    stage: Stage,
    chance: Chance,
    phase: Phase,
    buffers: Buffers,
    /// Requests without an answer.
    open: BTreeMap<u32, Request>,
    /// Requests whose memory could not be registered yet.
    unready: VecDeque<Request>,
    waiting: VecDeque<Bytes>,
    next: u32,
    thinks_until: Instant,
    heard_at: Instant,
    has_news: bool,
    asks_for_end: bool,
    is_done: bool,
}

impl Client {
    pub fn new(shared: &Rc<Shared>, plan: &ClientPlan, connection: usize, stage: &Stage) -> Self {
        let mut ledger = shared.ledger.borrow_mut();
        let record = ledger.connections.entry(connection).or_default();
        (record.guid, record.binds, record.is_hostile) = (plan.guid, plan.binds, plan.mischief.is_some());
        drop(ledger);
        Self {
            shared: Rc::clone(shared),
            plan: plan.clone(),
            connection,
            stage: stage.clone(),
            chance: shared.draw(),
            phase: Phase::Connecting,
            buffers: Buffers::default(),
            open: BTreeMap::new(),
            unready: VecDeque::new(),
            waiting: VecDeque::new(),
            next: 0,
            thinks_until: Instant::ORIGIN,
            heard_at: stage.now(),
            has_news: false,
            asks_for_end: false,
            is_done: false,
        }
    }

    fn step(&self, text: impl FnOnce() -> String) {
        let connection = self.connection;
        self.shared.notes.step(|| format!("client {connection}: {}", text()));
    }

    fn judge(&self, result: Result<(), Breach>) {
        let connection = self.connection;
        self.shared.notes.judge(result.map_err(|breach| format!("{breach} (client {connection})")));
    }

    /// Does what is due. When it wants to do something else.
    fn act(&mut self, machine: &mut impl Messages, now: Instant) -> Option<Instant> {
        if matches!(self.phase, Phase::Connecting | Phase::Closing) {
            return None;
        }
        if let Some(within) = self.stage.take_ending(Side::Initiator) {
            self.leave(machine, now, within);
            return None;
        }
        self.buffers.give_up(machine, now);
        let mut wake = None;
        if self.phase == Phase::Working {
            if let Some(request) = self.unready.pop_front() {
                self.ask_for_memory(machine, now, request);
            }
            wake = self.work(machine, now);
        }
        self.give(machine, now);
        if self.is_at_end() {
            if let Leaves::Asks(kind) = self.plan.leaves {
                self.ask_for_end(kind);
                self.give(machine, now);
                return None;
            }
            self.is_done = true;
            self.leave(machine, now, LONG);
            return None;
        }
        let is_silent = self.plan.leaves == Leaves::Silent;
        let patience = self.heard_at.saturating_add(if is_silent { SILENCE } else { PATIENCE });
        let may_wait = self.shared.plan.is_gentle && !self.shared.ledger.borrow().is_hostile(self.connection);
        if !may_wait || is_silent {
            if patience <= now {
                self.step(|| "has no patience any more".into());
                if is_silent && self.shared.plan.is_gentle {
                    self.judge(Err(format!(
                        "silent: nothing was said for {SILENCE:?}, and the connection is there"
                    )));
                }
                self.leave(machine, now, Duration::ZERO);
                return None;
            }
            wake = wake.into_iter().chain([patience]).min();
        }
        wake
    }

    /// Its owner is to answer everything, and to end the connection.
    fn ask_for_end(&mut self, kind: Kind) {
        if self.asks_for_end {
            return;
        }
        self.asks_for_end = true;
        // Some are to be answered before, and others come too late.
        let (before, behind) = (self.chance.below(6), self.chance.below(4));
        for at in 0..=before + behind {
            let kind = if at == before { kind } else { Kind::Echo };
            let answer_len = self.chance.size(0, self.plan.message_max) as u32;
            let number = self.next + at as u32;
            let (remote, invalidates) = (Vec::new(), false);
            self.send(Request { kind, number, offset: 0, len: 0, answer_len, invalidates, remote });
        }
        self.next += before as u32;
    }

    fn is_at_end(&self) -> bool {
        let is_all = self.next as usize >= self.plan.requests && self.open.is_empty();
        is_all
            && self.phase == Phase::Working
            && self.waiting.is_empty()
            && self.unready.is_empty()
            && self.buffers.is_empty()
    }

    fn is_over(&mut self) {
        self.phase = Phase::Closing;
        let mut ledger = self.shared.ledger.borrow_mut();
        ledger.connections.entry(self.connection).or_default().is_over = true;
    }

    fn leave(&mut self, machine: &mut impl Messages, now: Instant, within: Duration) {
        self.step(|| format!("leaves within {within:?}"));
        self.is_over();
        let how =
            if within.is_zero() { Close::Abort } else { Close::Flush { until: now.saturating_add(within) } };
        machine.close(now, how);
    }

    /// The next request, if there is one to be sent now.
    fn work(&mut self, machine: &mut impl Messages, now: Instant) -> Option<Instant> {
        let number = self.next;
        match self.plan.leaves {
            Leaves::Early(at) if number as usize == at => {
                self.leave(machine, now, Duration::from_secs(1));
                return None;
            }
            Leaves::Aborts(at) if number as usize == at => {
                self.leave(machine, now, Duration::ZERO);
                return None;
            }
            _ => {}
        }
        if number as usize >= self.plan.requests || self.open.len() >= self.plan.window {
            return None;
        }
        if self.thinks_until > now {
            return Some(self.thinks_until);
        }
        self.next += 1;
        self.thinks_until = self.shared.notes.soon(&mut self.chance, self.plan.thinks);
        let request = self.draw(number);
        let moves = request.kind != Kind::Echo;
        self.open.insert(number, request.clone());
        if moves {
            self.ask_for_memory(machine, now, request);
        } else {
            self.send(request);
        }
        Some(self.thinks_until.max(now))
    }

    fn draw(&mut self, number: u32) -> Request {
        let chance = &mut self.chance;
        let (kind, large) = match self.plan.large {
            None => (chance.pick(&[Kind::Echo, Kind::Read, Kind::Write]), None),
            Some(large) => {
                let (kind, is_large) = large.kind(chance);
                (kind, is_large.then_some(large))
            }
        };
        let (offset, len) = match (kind, large) {
            (Kind::Echo, _) => (0, 0),
            (_, None) => (chance.below(60) as u32, chance.size(1, self.plan.moved_max as usize) as u32),
            (_, Some(large)) => (large.offset(chance), large::LEN),
        };
        let answer_len = chance.size(0, self.plan.message_max) as u32;
        Request { kind, number, offset, len, answer_len, invalidates: false, remote: Vec::new() }
    }

    fn ask_for_memory(&mut self, machine: &mut impl Messages, now: Instant, request: Request) {
        let place = (&self.stage, self.connection);
        if let Some(request) = self.buffers.register((machine, now), place, request, &mut self.chance) {
            self.unready.push_front(request);
        }
    }

    fn send(&mut self, request: Request) {
        let len = self.chance.size(0, self.plan.message_max);
        let filler = pattern(key(self.connection, request.number, b'Q'), len);
        let bytes = request.write(&filler);
        self.open.insert(request.number, request);
        self.put(bytes);
    }

    fn put(&mut self, mut bytes: Vec<u8>) {
        if let Some(rate) = self.plan.mischief
            && self.chance.one_in(rate)
        {
            self.shared.notes.count("messages changed by clients");
            bytes = mischief::change(&bytes, &mut self.chance);
        }
        self.waiting.push_back(bytes.into());
    }

    fn give(&mut self, machine: &mut impl Messages, now: Instant) {
        let most = machine.endpoint().connection().negotiated().map_or(0, |n| n.max_fragmented_send_size);
        while let Some(message) = self.waiting.pop_front() {
            let message = message.slice(..message.len().min(most as usize));
            match machine.send(now, message.clone(), None) {
                Ok(_) => {
                    self.step(|| format!("sends {} bytes", message.len()));
                    let now = self.shared.notes.now();
                    let mut ledger = self.shared.ledger.borrow_mut();
                    ledger.connections.entry(self.connection).or_default().sent.push((message, now));
                }
                Err(refused) => {
                    self.waiting.push_front(refused.payload);
                    return;
                }
            }
        }
    }

    fn message(&mut self, bytes: Bytes) {
        self.has_news = true;
        self.heard_at = self.stage.now();
        self.step(|| format!("receives {} bytes", bytes.len()));
        let is_response = NegotiateResponse::parse(&bytes).is_ok() && Header::parse(&bytes).is_ok();
        {
            let mut ledger = self.shared.ledger.borrow_mut();
            let record = ledger.connections.entry(self.connection).or_default();
            let result = record.hears(bytes.clone(), is_response);
            drop(ledger);
            self.judge(result);
        }
        match self.phase {
            Phase::Beginning(0) => {
                let token = pattern(key(self.connection, 1, b'T'), self.chance.size(1, 200));
                self.phase = Phase::Beginning(1);
                self.put(setup(self.plan.binds, &token));
            }
            Phase::Beginning(_) => {
                self.phase = Phase::Working;
                self.step(|| "has a session".into());
                self.shared.notes.count("sessions");
            }
            Phase::Working => {
                let result = self.answer(&bytes);
                self.judge(result);
            }
            Phase::Connecting | Phase::Closing => {}
        }
    }

    fn answer(&mut self, bytes: &[u8]) -> Result<(), Breach> {
        let is_hostile = self.shared.ledger.borrow().is_hostile(self.connection);
        let Some((answer, filler)) = Answer::parse(bytes) else {
            law!("answers", is_hostile, "not an answer: {} bytes", bytes.len());
            return Ok(());
        };
        let Some(request) = self.open.remove(&answer.number) else {
            law!("answers", is_hostile, "request {} waits for no answer", answer.number);
            return Ok(());
        };
        self.shared.notes.count("answers");
        self.is_done |= self.asks_for_end && self.open.keys().all(|number| *number > self.next);
        let place = (&self.stage, self.connection);
        if is_hostile {
            let _ = self.buffers.answered(place, &request, None);
            return Ok(());
        }
        let expected = pattern(key(self.connection, answer.number, b'A'), filler.len());
        law!("answers", filler == expected, "the answer to {} is another's", answer.number);
        let moved = (answer.is_success || answer.moved > 0).then_some(answer.moved);
        if let Some(form) = large::form(&request)
            && moved == Some(large::LEN)
        {
            self.shared.notes.count(form);
        }
        self.buffers.answered(place, &request, moved)
    }

    fn begin(&mut self) {
        self.phase = Phase::Beginning(0);
        if self.plan.leaves == Leaves::Silent {
            return;
        }
        let salt = pattern(key(self.connection, 0, b'H'), 32);
        self.put(negotiate(self.plan.guid, &salt));
    }
}

impl BufferLookup<Block> for Client {
    fn registration(&self, id: RegId) -> Option<&Block> {
        self.buffers.blocks.get(&id)
    }
}

impl<C: Messages> Handler<LoopEnd<Block>, C> for Client {
    fn event(&mut self, machine: &mut C, end: &mut LoopEnd<Block>, event: EndpointEvent) {
        let now = self.stage.now();
        self.has_news = true;
        match event {
            EndpointEvent::Established(_) => self.begin(),
            EndpointEvent::Message(Message::Owned(bytes)) => self.message(bytes.freeze()),
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                let bytes = end.fragment(&fragment).map(<[u8]>::to_vec).unwrap_or_default();
                // Whether that is a misuse is for the oracles.
                let _ = machine.release(now, fragment);
                self.message(bytes.into());
            }
            EndpointEvent::Registered { id, result } => {
                let place = (&self.stage, self.connection);
                let pieces = self.plan.large.map(|large| large.descriptors);
                let (is_success, chance) = (result.is_ok(), &mut self.chance);
                let ready = self.buffers.registered(machine, place, (id, is_success), pieces, chance);
                if let Some(request) = ready {
                    self.send(request);
                }
            }
            EndpointEvent::Deregistered { id, .. } => self.buffers.gone(id),
            EndpointEvent::Closed(_) | EndpointEvent::ConnectFailed(_) => {
                self.step(|| format!("{event:?}"));
                self.is_done |= self.plan.leaves == Leaves::Silent;
                self.is_over();
            }
            _ => {}
        }
    }
}
