//! Engines with one connection each: one that waits by itself, and one that a task gives its turns.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use smbd_core::backend::{Backend, BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::runtime::Messages;
use smbd_core::runtime::engine::Engine;
use smbd_core::{Close, Instant, Negotiated};

use super::hub::{Flag, Hub, HubPoller, LoopEnd, Protocol};
use super::{Game, LONG, Notes};
use crate::Side;
use crate::memory::Range;
use crate::swarm::Plan;

type EngineOf<U> = Engine<U, Protocol, LoopEnd, HubPoller>;

/// The bytes of a message, out of its receive buffer.
fn taken(machine: &mut Protocol, end: &LoopEnd, message: Message) -> Bytes {
    match message {
        Message::Owned(bytes) => bytes,
        Message::Borrowed(fragment) => {
            let bytes = Bytes::copy_from_slice(end.fragment(&fragment).unwrap());
            machine.release(end.now(), fragment).unwrap();
            bytes
        }
    }
}

/// What is to be sent, as far as there is room.
#[derive(Default)]
struct Outbox(VecDeque<Bytes>);

impl Outbox {
    fn send(&mut self, machine: &mut Protocol, now: Instant) {
        while let Some(message) = self.0.pop_front() {
            if let Err(refused) = machine.send(now, message, None) {
                self.0.push_front(refused.payload);
                return;
            }
        }
    }
}

/// Returns every message.
#[derive(Default)]
struct Echo(Outbox);

impl BufferLookup<Range> for Echo {}

impl Handler<LoopEnd, Protocol> for Echo {
    fn event(&mut self, machine: &mut Protocol, end: &mut LoopEnd, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => {
                let message = taken(machine, end, message);
                self.0.0.push_back(message);
                self.0.send(machine, end.now());
            }
            EndpointEvent::Writable => self.0.send(machine, end.now()),
            _ => {}
        }
    }
}

/// Sends messages, so many unanswered at a time, and closes when all have come back.
struct Asker {
    game: Rc<Game>,
    notes: Notes,
    negotiated: Option<Negotiated>,
    next: usize,
    outbox: Outbox,
}

impl Asker {
    fn go_on(&mut self, machine: &mut Protocol, now: Instant) {
        let Some(negotiated) = self.negotiated else { return };
        let mut seen = self.notes.borrow_mut();
        while self.next < self.game.messages && self.next < seen.back.len() + self.game.window {
            let message = self.game.message(self.next, &negotiated);
            seen.sent.push(message.clone());
            self.outbox.0.push_back(message);
            self.next += 1;
        }
        self.outbox.send(machine, now);
        if seen.back.len() == self.game.messages {
            machine.close(now, Close::Flush { until: now.saturating_add(LONG) });
        }
    }
}

impl BufferLookup<Range> for Asker {}

impl Handler<LoopEnd, Protocol> for Asker {
    fn event(&mut self, machine: &mut Protocol, end: &mut LoopEnd, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => {
                self.negotiated = Some(negotiated);
                self.notes.borrow_mut().established = true;
            }
            EndpointEvent::Message(message) => {
                let message = taken(machine, end, message);
                self.notes.borrow_mut().back.push(message);
            }
            EndpointEvent::Writable => {}
            _ => return,
        }
        self.go_on(machine, end.now());
    }
}

/// A task runs the engine, which never waits by itself.
pub(super) fn answer(hub: &Rc<Hub>, plan: &Plan) {
    let flag = Flag::raised();
    let mut engine: EngineOf<Echo> =
        Engine::new((Rc::clone(hub), Side::Acceptor, Arc::clone(&flag))).unwrap();
    let machine = hub.machine(plan, Side::Acceptor);
    engine.add(machine, LoopEnd::new(hub, Side::Acceptor, plan), Echo::default()).unwrap();
    let hub_of_task = Rc::clone(hub);
    hub.spawn(poll_fn(move |cx| {
        loop {
            engine.poll(Some(Instant::ORIGIN)).unwrap();
            if let Some(finished) = engine.finished() {
                finished.result.unwrap();
                assert!(engine.is_empty());
                return Poll::Ready(());
            }
            let until = engine.deadline();
            if until.is_none_or(|until| until > hub_of_task.now()) {
                hub_of_task.sleep_for_engine(Side::Acceptor, &flag, cx.waker(), until);
                return Poll::Pending;
            }
        }
    }));
}

/// The engine waits, and lets the acceptor have its turns meanwhile.
pub(super) fn ask(hub: &Rc<Hub>, plan: &Plan, game: &Rc<Game>, notes: &Notes) {
    let flag = Flag::raised();
    let mut engine: EngineOf<Asker> = Engine::new((Rc::clone(hub), Side::Initiator, flag)).unwrap();
    let asker = Asker {
        game: Rc::clone(game),
        notes: Rc::clone(notes),
        negotiated: None,
        next: 0,
        outbox: Outbox::default(),
    };
    let machine = hub.machine(plan, Side::Initiator);
    engine.add(machine, LoopEnd::new(hub, Side::Initiator, plan), asker).unwrap();
    while !engine.is_empty() {
        engine.poll(None).unwrap();
        if let Some(finished) = engine.finished() {
            finished.result.unwrap();
        }
    }
    notes.borrow_mut().over = true;
}
