//! The client of a run: its model on a simulated device, with registered memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Close, Instant, RegId};
use smbd_link::Messages;
use smbd_sim::Side;
use smbd_sim::loops::LoopEnd;
use smbd_smb2::wire::{Header, NtStatus};

use crate::notes::Notes;
use crate::plan::{End, Plan};
use crate::registered::Registered;
use crate::turns::AtDevice;
use smbd_testkit::Chance;
use smbd_testkit::relay::{Client, Server, elements};
use smbd_testkit::swarm::Memory;

/// Messages that wait for room in the connection.
const WAITING_MAX: usize = 4;
/// Bytes of memory that are registered beyond what a message may need.
const SPARE: usize = 36_000;
/// Longer than the end of a connection may take.
const LONG: Duration = Duration::from_secs(600);

pub struct ClientTask {
    plan: Rc<Plan>,
    notes: Notes,
    model: Rc<RefCell<Client>>,
    server: Rc<RefCell<Server>>,
    chance: Chance,
    memory: Registered,
    /// Tokens that the peer has invalidated, whose messages have not come.
    invalidated: VecDeque<u32>,
    waiting: VecDeque<Bytes>,
    /// Messages of the beginning that were sent.
    hello: usize,
    sent: usize,
    thinks_until: Instant,
    pauses_until: Option<Instant>,
    was_paused: bool,
    is_established: bool,
    /// Its SESSION_SETUP was answered.
    has_session: bool,
    /// It sends no more.
    is_silent: bool,
    is_closing: bool,
    has_news: bool,
}

impl ClientTask {
    pub fn new(
        plan: &Rc<Plan>,
        notes: &Notes,
        models: (&Rc<RefCell<Client>>, &Rc<RefCell<Server>>),
        chance: Chance,
    ) -> Self {
        Self {
            plan: Rc::clone(plan),
            notes: notes.clone(),
            model: Rc::clone(models.0),
            server: Rc::clone(models.1),
            chance,
            memory: Registered::default(),
            invalidated: VecDeque::new(),
            waiting: VecDeque::new(),
            hello: 0,
            sent: 0,
            thinks_until: Instant::ORIGIN,
            pauses_until: None,
            was_paused: false,
            is_established: false,
            has_session: false,
            is_silent: false,
            is_closing: false,
            has_news: false,
        }
    }

    fn is_done(&self) -> bool {
        let model = self.model.borrow();
        let has_sent = self.hello == 3 && !model.has_more() && self.waiting.is_empty() && !self.is_silent;
        has_sent && model.open.is_empty() && !self.is_closing
    }

    fn leave(&mut self, machine: &mut impl Messages, now: Instant, within: Duration) {
        self.notes.note(|seen| seen.own.has_left = true);
        self.notes.step(|| format!("client: leaves within {within:?}"));
        self.is_closing = true;
        let how =
            if within.is_zero() { Close::Abort } else { Close::Flush { until: now.saturating_add(within) } };
        machine.close(now, how);
    }

    /// The next message, if there is one to be sent now, or the end that the plan has.
    fn think(&mut self, machine: &mut impl Messages, now: Instant) {
        let mut model = self.model.borrow_mut();
        if self.hello == 3 && !self.has_session {
            if !model.open.is_empty() {
                return;
            }
            self.has_session = true;
        }
        let has_memory = model.pool.as_ref().is_some_and(|pool| pool.bytes() >= model.memory_needed());
        let message = if self.hello < 3 {
            let is_early = self.plan.end == End::EarlyRdma && self.hello > self.plan.end_at % 3;
            if !model.open.is_empty() || (is_early && !has_memory) {
                return;
            }
            if is_early {
                self.notes.note(|seen| seen.is_struck = true);
                self.is_silent = true;
                model.early_write(&mut self.chance)
            } else {
                self.hello += 1;
                model.hello(self.hello - 1)
            }
        } else if self.sent == self.plan.end_at && self.ends() {
            match self.plan.end {
                End::SignedChannel if !has_memory || model.credits < 12 => return,
                End::SignedChannel => {
                    self.notes.note(|seen| seen.is_struck = true);
                    self.is_silent = true;
                    model.signed_channel(&mut self.chance)
                }
                end => {
                    drop(model);
                    self.notes.note(|seen| seen.is_struck = true);
                    let within =
                        if end == End::ClientAborts { Duration::ZERO } else { Duration::from_secs(1) };
                    return self.leave(machine, now, within);
                }
            }
        } else {
            let Some(message) = model.next(&mut self.chance) else { return };
            self.sent += 1;
            message
        };
        self.memory.store(&model);
        drop(model);
        self.notes.step(|| format!("client: sends {}", told(&message)));
        self.waiting.push_back(message.into());
        self.thinks_until = self.notes.soon(&mut self.chance, self.plan.pace.thinks);
    }

    fn ends(&self) -> bool {
        matches!(self.plan.end, End::SignedChannel | End::ClientCloses | End::ClientAborts)
    }

    fn give(&mut self, machine: &mut impl Messages, now: Instant) {
        while let Some(message) = self.waiting.pop_front() {
            if let Err(refused) = machine.send(now, message, None) {
                self.waiting.push_front(refused.payload);
                return;
            }
        }
    }

    fn message(&mut self, bytes: &[u8]) {
        let mut model = self.model.borrow_mut();
        let expected = elements(bytes).unwrap_or_default().into_iter().filter_map(|range| {
            let header =
                Header::parse(&bytes[range]).ok().filter(|header| header.status != NtStatus::PENDING)?;
            model.open.get(&header.message_id.0)?.invalidate
        });
        let expected: Vec<_> = expected.collect();
        // While it takes nothing, the end of a token is told before the message it came with.
        let first = self.invalidated.front().copied();
        let token = first.filter(|token| expected.contains(token) || !self.was_paused);
        if token.is_some() {
            self.invalidated.pop_front();
        }
        self.was_paused &= !self.invalidated.is_empty();
        self.memory.load(&mut model);
        let result = model.receive(bytes, token, &self.server.borrow());
        self.notes.step(|| format!("client: receives {}, {token:?} is invalidated", told(bytes)));
        self.notes.judge(result);
        self.memory.recycle(&mut model, &mut self.chance);
        drop(model);
        self.has_news = true;
    }
}

impl<C: Messages> AtDevice<C> for ClientTask {
    const NAME: &'static str = "client";

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn act(&mut self, machine: &mut C, now: Instant) -> Option<Instant> {
        if !self.is_established || self.is_closing {
            return None;
        }
        if let Some(within) = self.notes.stage().take_ending(Side::Initiator) {
            self.notes.note(|seen| seen.is_asked = true);
            self.leave(machine, now, within);
            return None;
        }
        if self.pauses_until.is_some_and(|until| until <= now) {
            self.pauses_until = None;
            machine.resume();
        }
        let wanted = self.model.borrow().memory_needed() + SPARE;
        self.memory.ask(machine, now, wanted, &mut self.chance);
        let mut thinks = None;
        if !self.is_silent && self.waiting.len() < WAITING_MAX {
            if self.thinks_until > now {
                thinks = Some(self.thinks_until);
            } else {
                self.think(machine, now);
            }
        }
        self.give(machine, now);
        if self.is_done() {
            self.notes.note(|seen| seen.is_done = true);
            self.notes.step(|| "client: done".into());
            self.is_closing = true;
            machine.close(now, Close::Flush { until: now.saturating_add(LONG) });
        }
        if thinks.is_none() && !self.is_silent && self.thinks_until > now {
            thinks = Some(self.thinks_until);
        }
        thinks.into_iter().chain(self.pauses_until).chain(self.memory.asks_at).min()
    }

    fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }
}

/// What a message is, for who reads the steps.
fn told(message: &[u8]) -> String {
    let elements = elements(message).unwrap_or_default().into_iter();
    let headers = elements.filter_map(|range| Header::parse(&message[range]).ok());
    let told: Vec<_> = headers.map(|h| format!("{} {} {}", h.command, h.message_id, h.status)).collect();
    format!("{} bytes: {told:?}", message.len())
}

impl BufferLookup<Memory> for ClientTask {
    fn registration(&self, id: RegId) -> Option<&Memory> {
        self.memory.blocks.get(&id)
    }
}

impl<C: Messages> Handler<LoopEnd<Memory>, C> for ClientTask {
    fn event(&mut self, machine: &mut C, end: &mut LoopEnd<Memory>, event: EndpointEvent) {
        let now = self.notes.stage().now();
        match event {
            EndpointEvent::Established(_) => self.is_established = true,
            EndpointEvent::Message(Message::Owned(bytes)) => self.message(&bytes),
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                let bytes = end.fragment(&fragment).map(<[u8]>::to_vec).unwrap_or_default();
                // Whether that is a misuse is for the oracles.
                let _ = machine.release(now, fragment);
                self.message(&bytes);
            }
            EndpointEvent::Invalidated { token, .. } => {
                self.memory.on_invalidated(token.0);
                self.invalidated.push_back(token.0);
            }
            EndpointEvent::Registered { id, result } => {
                let mut model = self.model.borrow_mut();
                self.memory.on_registered((machine, now), id, result.is_ok(), &mut model);
            }
            EndpointEvent::Deregistered { id, result: Ok(()) } => self.memory.on_gone(id),
            // Its end may have been seen before what came just before it.
            EndpointEvent::Sent { result: Err(_), .. } => self.notes.note(|seen| seen.own.is_cut = true),
            EndpointEvent::Writable => {}
            EndpointEvent::Closed(_) | EndpointEvent::ConnectFailed(_) => {
                self.notes.step(|| format!("client: {event:?}"));
                self.is_closing = true;
            }
            _ => return,
        }
        self.has_news = true;
        let is_open = self.is_established && !self.is_closing;
        if is_open && self.pauses_until.is_none() && self.hello == 3 && self.chance.one_in(60) {
            let nanos = self.chance.size(1, self.plan.pace.stalls.as_nanos() as usize + 1) as u64;
            self.pauses_until = Some(now.saturating_add(Duration::from_nanos(nanos)));
            self.was_paused = true;
            machine.pause();
        }
    }
}
