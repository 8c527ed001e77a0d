//! The implementation under test: an endpoint of `smbd-core` and its upper layer.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use smbd_core::backend::{
    Backend, HostMemory, LocalMemory, OutOfMemory, OutOfRange, ReceiveMemory, Step, Upper, drive,
};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::WorkError;
use smbd_core::{
    BufferDescriptorV1, Config, Endpoint, Fragment, Input, Instant, OpId, RdmaId, RdmaVerb, RecvId, RegId,
    Role, WrId,
};
use smbd_examples::exercise::{Limits, Server};
use smbd_sim::backend::{SimBuffer, SimEnd};

use super::super::{RdmaSeen, Told};
use crate::suite::trace::{By, Event, What};

/// An endpoint, its upper layer, and what they were seen to do.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) endpoint: Endpoint,
    pub(super) layer: Layer,
    pub(super) device: Device,
    events: Vec<(Instant, What)>,
    /// When it wants to be driven at the latest.
    pub(super) deadline: Option<Instant>,
    pub(super) broken: Option<String>,
}

impl Subject {
    pub(super) fn new(role: Role, config: &Config, now: Instant) -> Self {
        Self {
            endpoint: Endpoint::new(role, config, now),
            layer: Layer::default(),
            device: Device::default(),
            events: Vec::new(),
            deadline: None,
            broken: None,
        }
    }

    /// Drives it; whether anything happened.
    pub(super) fn drive(&mut self, end: SimEnd<'_>) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let told = self.layer.told.len();
        let mut watched = Watched {
            end,
            busy: false,
            device: &mut self.device,
            sends: Rc::clone(&self.layer.sends),
            events: &mut self.events,
        };
        match drive(&mut self.endpoint, &mut watched, &mut self.layer) {
            Ok(deadline) => self.deadline = deadline,
            Err(error) => {
                self.broken = Some(error.to_string());
                self.deadline = None;
            }
        }
        let busy = watched.busy || self.layer.told.len() > told;
        for (at, told) in &self.layer.told[told..] {
            if let Some(text) = worth_telling(told) {
                self.events.push((*at, What::Upper { text }));
            }
        }
        busy
    }

    pub(super) fn take_events(&mut self, connection: usize) -> impl Iterator<Item = Event> + '_ {
        let event =
            move |(at, what): (Instant, What)| Event { at: at.as_nanos(), connection, by: By::Subject, what };
        self.events.drain(..).map(event)
    }
}

/// What its device was seen to do.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) rdma: Vec<RdmaSeen>,
    reads: BTreeSet<RdmaId>,
    /// What it opened to the script, in order.
    pub(super) opened: Vec<BufferDescriptorV1>,
    /// Work that it reported as failed.
    pub(super) failures: Vec<(WrId, WorkError)>,
}

/// What belongs into a recording; the rest can be seen in the messages.
fn worth_telling(told: &Told) -> Option<String> {
    match told {
        Told::Established(_) => Some("established".into()),
        Told::ConnectFailed(error) => Some(format!("not connected: {error}")),
        Told::Closed(reason) => Some(format!("closed: {reason}")),
        _ => None,
    }
}

/// The upper layer: a server that returns messages, until a case takes over.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) server: Server<SimBuffer>,
    pub(super) by_hand: bool,
    pub(super) told: Vec<(Instant, Told)>,
    /// How many messages the device had been given by then, for each of these.
    pub(super) sends_when_told: Vec<u64>,
    sends: Rc<Cell<u64>>,
    pub(super) operations: BTreeMap<OpId, SimBuffer>,
    pub(super) registrations: BTreeMap<RegId, SimBuffer>,
    pub(super) held: Vec<Fragment>,
    /// Fragments to be held at most.
    pub(super) hold: usize,
    /// Sent as soon as there is a connection.
    pub(super) greeting: Option<Bytes>,
}

impl Default for Layer {
    fn default() -> Self {
        Self {
            server: Server::new(Limits { backlog_messages: 1 << 20, ..Limits::default() }),
            by_hand: false,
            told: Vec::new(),
            sends_when_told: Vec::new(),
            sends: Rc::default(),
            operations: BTreeMap::new(),
            registrations: BTreeMap::new(),
            held: Vec::new(),
            hold: 0,
            greeting: None,
        }
    }
}

impl Layer {
    pub(super) fn give_back(&mut self, endpoint: &mut Endpoint, now: Instant) {
        for fragment in self.held.drain(..) {
            let released = endpoint.release(now, fragment);
            debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
        }
    }

    fn tell(&mut self, now: Instant, told: Told) {
        self.told.push((now, told));
        self.sends_when_told.push(self.sends.get());
    }

    fn message(&mut self, endpoint: &mut Endpoint, backend: &impl Backend, message: Message) {
        if let Ok(bytes) = message.bytes(backend) {
            self.tell(backend.now(), Told::Message(Bytes::copy_from_slice(bytes)));
        }
        if let Message::Lent(fragment) = message {
            if self.held.len() < self.hold {
                self.held.push(fragment);
            } else {
                let released = endpoint.release(backend.now(), fragment);
                debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
            }
        }
    }
}

impl LocalMemory<SimBuffer> for Layer {
    fn operation(&self, op: OpId) -> Option<&SimBuffer> {
        self.operations.get(&op).or_else(|| self.server.operation(op))
    }

    fn registration(&self, id: RegId) -> Option<&SimBuffer> {
        self.registrations.get(&id).or_else(|| self.server.registration(id))
    }
}

impl<B: HostMemory<Buffer = SimBuffer>> Upper<B, Endpoint> for Layer {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
        let now = backend.now();
        let told = match &event {
            EndpointEvent::Established(negotiated) => Told::Established(*negotiated),
            EndpointEvent::ConnectFailed(error) => Told::ConnectFailed(*error),
            EndpointEvent::Invalidated { id, token } => Told::Invalidated(*id, *token),
            EndpointEvent::Sent { msg, result, .. } => Told::Sent(*msg, *result),
            EndpointEvent::RdmaDone { op, result } => Told::RdmaDone(*op, *result),
            EndpointEvent::Registered { id, result } => Told::Registered(*id, *result),
            EndpointEvent::Deregistered { id, result } => Told::Deregistered(*id, *result),
            EndpointEvent::Probed(result) => Told::Probed(*result),
            EndpointEvent::Writable => Told::Writable,
            EndpointEvent::Closed(reason) => Told::Closed(*reason),
            EndpointEvent::Drained => Told::Drained,
            EndpointEvent::Message(_) => {
                if self.by_hand {
                    if let EndpointEvent::Message(message) = event {
                        self.message(endpoint, backend, message);
                    }
                } else {
                    self.server.event(endpoint, backend, event);
                }
                return;
            }
        };
        if let Told::Registered(id, Ok(())) = told
            && let Some(buffer) = self.server.registration(id)
        {
            // Cases look at it when the server has forgotten it, too.
            self.registrations.insert(id, buffer.clone());
        }
        self.tell(now, told);
        if matches!(event, EndpointEvent::Established(_))
            && let Some(greeting) = self.greeting.take()
        {
            let sent = endpoint.send(now, greeting, None);
            debug_assert!(sent.is_ok(), "a new connection has room for a message");
        }
        if matches!(event, EndpointEvent::Closed(_)) {
            self.give_back(endpoint, now);
        }
        if !self.by_hand {
            self.server.event(endpoint, backend, event);
        }
    }
}

/// The subject's device, looked at.
#[derive(Debug)]
struct Watched<'a> {
    end: SimEnd<'a>,
    busy: bool,
    device: &'a mut Device,
    sends: Rc<Cell<u64>>,
    events: &'a mut Vec<(Instant, What)>,
}

impl ReceiveMemory for Watched<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl Backend for Watched<'_> {
    type Buffer = SimBuffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: Step<'_, SimBuffer>) {
        self.busy = true;
        match &step {
            Step::PostRdma { id, verb, remote, .. } => {
                if *verb == RdmaVerb::Read {
                    self.device.reads.insert(*id);
                }
                let (at, reads) = (self.end.now(), self.device.reads.len());
                self.device.rdma.push(RdmaSeen { at, verb: *verb, remote: *remote, reads });
                let (verb, from) = match verb {
                    RdmaVerb::Read => ("RDMA Read of", "from"),
                    RdmaVerb::Write => ("RDMA Write of", "to"),
                };
                let text =
                    format!("{verb} {} bytes {from} {} + 0x{:x}", remote.length, remote.token, remote.offset);
                self.events.push((self.end.now(), What::Rdma { text }));
            }
            Step::PostSend { .. } => self.sends.set(self.sends.get() + 1),
            Step::Disconnect => self.events.push((self.end.now(), What::Disconnect)),
            _ => {}
        }
        let registers = matches!(step, Step::Register { .. });
        let before = if registers { self.end.open_memory() } else { Vec::new() };
        self.end.execute(step);
        if registers {
            let now = self.end.open_memory();
            self.device.opened.extend(now.into_iter().filter(|opened| !before.contains(opened)));
        }
    }

    fn ring(&mut self) {
        self.end.ring();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        let input = self.end.next_input();
        self.busy |= input.is_some();
        if let Some(Input::RdmaDone { id } | Input::Failed { id: WrId::Rdma(id), .. }) = &input {
            self.device.reads.remove(id);
        }
        if let Some(Input::Failed { id, error }) = input {
            self.device.failures.push((id, error));
        }
        input
    }
}

impl HostMemory for Watched<'_> {
    fn allocate(&mut self, len: u32) -> Result<SimBuffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &SimBuffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &SimBuffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}
