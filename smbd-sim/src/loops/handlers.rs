//! The upper layers of engines.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use smbd_core::backend::{Backend, BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Access, BufferDescriptorV1, Close, Instant, Negotiated, OpId, RdmaVerb, RegId};
use smbd_link::Messages;

use super::LONG;
use super::end::LoopEnd;
use super::hub::Protocol;
use super::load::Load;
use super::notes::Notes;
use super::transfer;
use crate::memory::Range;

/// The bytes of a message, out of its receive buffer. Empty if it does not lie there: no message is.
fn taken(machine: &mut Protocol, end: &LoopEnd, message: Message) -> Bytes {
    match message {
        Message::Owned(bytes) => bytes.freeze(),
        Message::Borrowed(fragment) => {
            let bytes = end.fragment(&fragment).map(Bytes::copy_from_slice).unwrap_or_default();
            // Whether that is a misuse is for the oracles.
            let _ = machine.release(end.now(), fragment);
            bytes
        }
    }
}

/// Ends the connection, if that is arranged for now.
fn end_if_asked(machine: &mut Protocol, end: &LoopEnd) {
    if let Some(within) = end.take_ending() {
        let now = end.now();
        let how =
            if within.is_zero() { Close::Abort } else { Close::Flush { until: now.saturating_add(within) } };
        machine.close(now, how);
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
pub(super) struct Echo {
    outbox: Outbox,
    moving: Option<Moving>,
}

/// A buffer of the peer that is read, and then written.
struct Moving {
    op: OpId,
    verb: RdmaVerb,
    here: Range,
    remote: Arc<[BufferDescriptorV1]>,
    request: Bytes,
}

impl Echo {
    fn message(&mut self, machine: &mut Protocol, end: &LoopEnd, message: Bytes) {
        let Some(remote) = transfer::requested(&message) else {
            self.outbox.0.push_back(message);
            self.outbox.send(machine, end.now());
            return;
        };
        let here = transfer::place(end.hub(), &remote);
        let verb = RdmaVerb::Read;
        if let Ok(op) = machine.rdma(end.now(), verb, here.len, Arc::clone(&remote), 0) {
            self.moving = Some(Moving { op, verb, here, remote, request: message });
        }
    }

    fn done(&mut self, machine: &mut Protocol, end: &LoopEnd, op: OpId) {
        let Some(mut moving) = self.moving.take_if(|moving| moving.op == op) else { return };
        if moving.verb == RdmaVerb::Write {
            return;
        }
        transfer::invert(end.hub(), moving.here);
        moving.verb = RdmaVerb::Write;
        let remote = Arc::clone(&moving.remote);
        if let Ok(op) = machine.rdma_unsignalled(end.now(), moving.verb, moving.here.len, remote, 0) {
            // It arrives behind what is written, and says as much.
            self.outbox.0.push_back(moving.request.clone());
            self.outbox.send(machine, end.now());
            self.moving = Some(Moving { op, ..moving });
        }
    }
}

impl BufferLookup<Range> for Echo {
    fn operation(&self, op: OpId) -> Option<&Range> {
        self.moving.as_ref().filter(|moving| moving.op == op).map(|moving| &moving.here)
    }
}

impl Handler<LoopEnd, Protocol> for Echo {
    fn event(&mut self, machine: &mut Protocol, end: &mut LoopEnd, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => {
                end_if_asked(machine, end);
                let message = taken(machine, end, message);
                self.message(machine, end, message);
            }
            EndpointEvent::RdmaDone { op, result: Ok(()) } => self.done(machine, end, op),
            EndpointEvent::Writable => self.outbox.send(machine, end.now()),
            _ => {}
        }
    }
}

/// Offers a buffer if it is to be moved, sends messages, so many unanswered at a time, and closes when all have come back.
pub(super) struct Asker {
    load: Load,
    notes: Notes,
    negotiated: Option<Negotiated>,
    next: usize,
    outbox: Outbox,
    offered: Option<Offered>,
}

/// A buffer that the peer reads and writes.
struct Offered {
    id: RegId,
    buffer: Range,
    /// What is to come back.
    request: Option<Bytes>,
    is_over: bool,
}

impl Asker {
    pub(super) fn new(load: Load, notes: &Notes) -> Self {
        let notes = Rc::clone(notes);
        Self { load, notes, negotiated: None, next: 0, outbox: Outbox::default(), offered: None }
    }

    fn begin(&mut self, machine: &mut Protocol, end: &LoopEnd) {
        if self.load.moved > 0
            && let Ok(id) = machine.register(end.now(), Access::ReadWrite, 1)
        {
            let buffer = transfer::buffer(end.hub(), self.load.moved);
            self.offered = Some(Offered { id, buffer, request: None, is_over: false });
        }
    }

    fn registered(&mut self, machine: &mut Protocol, id: RegId, failed: bool) {
        let descriptor = machine.endpoint().connection().live_segments(id).next();
        let Some(offered) = &mut self.offered else { return };
        match descriptor.filter(|_| !failed) {
            Some(descriptor) => {
                let request = transfer::request(&descriptor);
                self.outbox.0.push_back(request.clone());
                offered.request = Some(request);
            }
            None => offered.is_over = true,
        }
    }

    fn message(&mut self, machine: &mut Protocol, end: &LoopEnd, message: Bytes) {
        let mut seen = self.notes.borrow_mut();
        match &mut self.offered {
            Some(offered) if !offered.is_over => {
                offered.is_over = true;
                let is_request = offered.request.as_ref() == Some(&message);
                seen.moved = Some(is_request && transfer::is_inverted(end.hub(), offered.buffer));
                // Refused only when the connection ends anyway.
                let _ = machine.deregister(end.now(), offered.id);
            }
            _ => seen.back.push(message),
        }
    }

    fn go_on(&mut self, machine: &mut Protocol, now: Instant) {
        let Some(negotiated) = self.negotiated else { return };
        if self.offered.as_ref().is_some_and(|offered| !offered.is_over) {
            return self.outbox.send(machine, now);
        }
        let mut seen = self.notes.borrow_mut();
        while self.next < self.load.messages && self.next < seen.back.len() + self.load.window {
            let message = self.load.message(self.next, &negotiated);
            seen.sent.push(message.clone());
            self.outbox.0.push_back(message);
            self.next += 1;
        }
        self.outbox.send(machine, now);
        if seen.back.len() == self.load.messages {
            machine.close(now, Close::Flush { until: now.saturating_add(LONG) });
        }
    }
}

impl BufferLookup<Range> for Asker {
    fn registration(&self, id: RegId) -> Option<&Range> {
        self.offered.as_ref().filter(|offered| offered.id == id).map(|offered| &offered.buffer)
    }
}

impl Handler<LoopEnd, Protocol> for Asker {
    fn event(&mut self, machine: &mut Protocol, end: &mut LoopEnd, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(negotiated) => {
                self.negotiated = Some(negotiated);
                self.begin(machine, end);
            }
            EndpointEvent::Registered { id, result } => self.registered(machine, id, result.is_err()),
            EndpointEvent::Message(message) => {
                end_if_asked(machine, end);
                let message = taken(machine, end, message);
                self.message(machine, end, message);
            }
            EndpointEvent::Writable => {}
            _ => return,
        }
        self.go_on(machine, end.now());
    }
}
