use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{
    Access, Action, BufferDescriptorV1, Config, Connection, Event, Fragment, Head, Input, Instant, Limits,
    MsgId, OpId, Params, PhaseName, RdmaId, RdmaVerb, RecvId, RegId, Role, SendId, Token, WrId,
};

use super::watch::Watch;
use super::{LIMITS, told, wire};

/// A message on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub head: Head,
    pub len: u32,
    pub invalidate: Option<Token>,
    pub signal: bool,
    pub solicit: bool,
}

/// What the device does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Registrations and deregistrations succeed at once.
    pub registers: bool,
    /// Everything posted is flushed on `Disconnect`.
    pub flushes: bool,
}

/// A request for remote memory, as posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: RdmaId,
    pub op: OpId,
    pub verb: RdmaVerb,
    pub local_offset: u32,
    pub remote: BufferDescriptorV1,
    pub signal: bool,
}

/// What one poll gave; fragments go to [`Side::data`].
#[derive(Debug)]
pub enum Polled {
    Action(Action),
    Data,
    Wait(Option<Instant>),
}

/// One end: a connection and its device.
pub struct Side {
    pub name: &'static str,
    pub now: Instant,
    inputs: u64,
    pub connection: Connection,
    pub limits: Limits,
    pub device: Device,
    pub posted: VecDeque<(RecvId, u32)>,
    /// Sends not completed, oldest first.
    pub sends: VecDeque<SendId>,
    /// Messages that have left and have not arrived.
    pub wire: VecDeque<Message>,
    /// All messages ever sent.
    pub sent: Vec<Message>,
    pub rdma: VecDeque<RdmaId>,
    /// All RDMA requests ever posted.
    pub requests: Vec<Request>,
    pub registering: VecDeque<(RegId, Access, u16)>,
    pub binding: VecDeque<RegId>,
    pub deregistering: VecDeque<RegId>,
    pub events: Vec<Event>,
    /// Fragments not given back.
    pub fragments: Vec<Fragment>,
    /// All fragments ever: first of its message, length, remaining.
    pub data: Vec<(bool, u32, u32)>,
    /// Give fragments back as they come.
    pub release: bool,
    pub disconnected: bool,
    next_token: u32,
    watch: Watch,
}

impl Side {
    pub fn new(role: Role, params: Params) -> Self {
        let watch = Watch::new(role, &params);
        let config = Config::try_from(params).unwrap();
        Self {
            name: if role == Role::Initiator { "initiator" } else { "acceptor" },
            now: Instant::ORIGIN,
            inputs: 0,
            connection: Connection::new(role, &config, Instant::ORIGIN),
            limits: LIMITS,
            device: Device { registers: true, flushes: true },
            posted: VecDeque::new(),
            sends: VecDeque::new(),
            wire: VecDeque::new(),
            sent: Vec::new(),
            rdma: VecDeque::new(),
            requests: Vec::new(),
            registering: VecDeque::new(),
            binding: VecDeque::new(),
            deregistering: VecDeque::new(),
            events: Vec::new(),
            fragments: Vec::new(),
            data: Vec::new(),
            release: true,
            disconnected: false,
            next_token: 1,
            watch,
        }
    }

    /// Connected, the negotiation message of the peer not in yet.
    pub fn connected(role: Role, params: Params) -> Self {
        let mut side = Self::new(role, params);
        side.drain();
        side.connect();
        side.drain();
        side
    }

    /// An acceptor that answered `request`.
    pub fn accepted(params: Params, request: &NegotiateRequest) -> Self {
        let mut side = Self::connected(Role::Acceptor, params);
        side.receive(&wire::request(request));
        side.settle();
        side
    }

    /// An initiator that got `response`.
    pub fn initiated(params: Params, response: &NegotiateResponse) -> Self {
        let mut side = Self::connected(Role::Initiator, params);
        side.receive(&wire::response(response));
        side.settle();
        side
    }

    pub fn connect(&mut self) {
        let limits = self.limits;
        self.handle(Input::Connected { limits });
    }

    pub fn handle(&mut self, input: Input<'_>) {
        self.inputs += 1;
        let before = told::is_checked(self.inputs).then(|| self.connection.clone());
        self.connection.handle(self.now, input).unwrap();
        if let Some(before) = before {
            told::check_at_once(before, self.connection.clone(), self.now, input);
        }
        self.check();
    }

    /// Inputs without a look at the records in between.
    pub fn handle_all(&mut self, inputs: &[Input<'_>]) {
        for input in inputs {
            self.connection.handle(self.now, *input).unwrap();
        }
        self.check();
    }

    pub fn pass(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        self.handle(Input::Timeout);
        self.drain();
    }

    pub fn send(&mut self, len: u32) -> MsgId {
        self.connection.send(self.now, len, None).unwrap()
    }

    pub fn rdma(&mut self, verb: RdmaVerb, len: u32, remote: &[(u64, u32)], offset: u64) -> OpId {
        self.connection.rdma(self.now, verb, len, descriptors(remote), offset).unwrap()
    }

    /// Gives the oldest posted receive a message.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.receive_long(bytes, u32::try_from(bytes.len()).unwrap(), None);
    }

    /// Gives the oldest posted receive a message of `len` bytes that begins with `bytes`, all others zero.
    pub fn receive_long(&mut self, bytes: &[u8], len: u32, invalidated: Option<Token>) {
        let (id, _) = self.posted.pop_front().expect("receiver not ready");
        let mut bytes = bytes.to_vec();
        bytes.resize(usize::try_from(len).unwrap().min(bytes.len().max(Head::MAX)), 0);
        self.watch.on_received(&bytes);
        self.handle(Input::Received { id, head: Head::of(&bytes), len, invalidated });
    }

    pub fn receive_message(&mut self, message: &Message) {
        self.receive_long(message.head.as_bytes(), message.len, message.invalidate);
    }

    /// Receives a Data Transfer message with its payload and nothing behind it.
    pub fn receive_data(&mut self, header: DataTransfer) {
        let end = if header.data_length > 0 { header.data_offset + header.data_length } else { 20 };
        self.receive_long(&wire::data(&header), end, None);
    }

    pub fn complete_send(&mut self) -> bool {
        let Some(id) = self.sends.pop_front() else { return false };
        self.handle(Input::Sent { id });
        true
    }

    pub fn complete_rdma(&mut self) -> bool {
        let Some(id) = self.rdma.pop_front() else { return false };
        self.handle(Input::RdmaDone { id });
        true
    }

    /// Completes what is posted and drains, until nothing changes. Messages stay on the wire.
    pub fn settle(&mut self) {
        loop {
            self.drain();
            if !(self.complete_send() | self.complete_rdma()) {
                return;
            }
        }
    }

    /// Carries out all actions, and returns them; the last is `Wait`.
    pub fn drain(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for _ in 0..1_000_000 {
            match self.poll() {
                Polled::Action(action) => actions.push(action),
                Polled::Data => {}
                Polled::Wait(deadline) => {
                    actions.push(Action::Wait(deadline));
                    return actions;
                }
            }
        }
        panic!("a connection that never waits");
    }

    pub fn deadline(&mut self) -> Option<Instant> {
        match self.drain().pop() {
            Some(Action::Wait(deadline)) => deadline,
            other => panic!("{other:?}"),
        }
    }

    /// Carries out one action.
    pub fn poll(&mut self) -> Polled {
        let action = self.connection.poll_action();
        match &action {
            Action::PostRecv { id, len } => self.posted.push_back((*id, *len)),
            Action::PostSend { id, head, body, invalidate, signal, solicit } => {
                let len = head.len() + body.map_or(0, |body| body.len);
                let message =
                    Message { head: *head, len, invalidate: *invalidate, signal: *signal, solicit: *solicit };
                self.watch.on_sent(head.as_bytes(), len, self.posted.len());
                self.sends.push_back(*id);
                self.wire.push_back(message);
                self.sent.push(message);
            }
            Action::PostRdma { id, op, verb, local_offset, remote, signal } => {
                self.rdma.push_back(*id);
                let (id, op, verb, local_offset) = (*id, *op, *verb, *local_offset);
                self.requests.push(Request { id, op, verb, local_offset, remote: *remote, signal: *signal });
            }
            Action::Register { id, access, segments_max } => {
                self.registering.push_back((*id, *access, *segments_max));
                if self.device.registers {
                    self.complete_registration(*segments_max, true);
                }
            }
            Action::Deregister { id } => {
                self.deregistering.push_back(*id);
                if self.device.registers {
                    self.complete_deregistration();
                }
            }
            Action::Connect | Action::Accept | Action::Notify(_) | Action::Wait(_) => {}
            Action::Disconnect => self.disconnect(),
        }
        self.check();
        match action {
            Action::Notify(Event::Data(fragment)) => {
                self.data.push((fragment.is_first(), fragment.len(), fragment.remaining()));
                if self.release {
                    self.connection.release(self.now, fragment).unwrap();
                } else {
                    self.fragments.push(fragment);
                }
                Polled::Data
            }
            Action::Notify(event) => {
                self.events.push(copy(&event));
                Polled::Action(Action::Notify(event))
            }
            Action::Wait(deadline) => Polled::Wait(deadline),
            action => Polled::Action(action),
        }
    }

    /// The oldest registration comes into force with `count` segments of 4 KiB.
    pub fn complete_registration(&mut self, count: u16, bind_complete: bool) -> Vec<BufferDescriptorV1> {
        let (id, ..) = self.registering.pop_front().unwrap();
        let first = self.next_token;
        self.next_token += u32::from(count);
        let segments: Vec<_> = (0..count)
            .map(|n| BufferDescriptorV1 {
                offset: 0x1_0000 + 0x1000 * u64::from(n),
                token: Token(first + u32::from(n)),
                length: 0x1000,
            })
            .collect();
        if !bind_complete {
            self.binding.push_back(id);
        }
        self.handle(Input::Registered { id, segments: &segments, bind_complete });
        segments
    }

    pub fn complete_deregistration(&mut self) {
        let id = self.deregistering.pop_front().unwrap();
        self.handle(Input::Deregistered { id });
    }

    /// Flushes everything and says that the transport connection is gone.
    fn disconnect(&mut self) {
        if !self.device.flushes {
            return;
        }
        self.flush();
        if !self.disconnected {
            self.disconnected = true;
            self.handle(Input::Disconnected { reason: DisconnectReason::Local });
        }
    }

    /// Fails everything that is posted.
    pub fn flush(&mut self) {
        let mut ids: Vec<WrId> = self.posted.drain(..).map(|(id, _)| id.into()).collect();
        ids.extend(self.sends.drain(..).map(WrId::from));
        ids.extend(self.rdma.drain(..).map(WrId::from));
        ids.extend(self.registering.drain(..).map(|(id, ..)| WrId::from(id)));
        ids.extend(self.binding.drain(..).map(WrId::from));
        ids.extend(self.deregistering.drain(..).map(WrId::from));
        for id in ids {
            // Law 1 is checked when all are back.
            self.connection.handle(self.now, flushed(id)).unwrap();
        }
        self.check();
    }

    pub fn release_all(&mut self) {
        for fragment in self.fragments.drain(..) {
            self.connection.release(self.now, fragment).unwrap();
        }
    }

    /// Data Transfer headers sent, negotiation left out.
    pub fn data_headers(&self) -> Vec<DataTransfer> {
        self.sent[1..].iter().map(|m| DataTransfer::parse(m.head.as_bytes()).unwrap()).collect()
    }

    pub fn last_header(&self) -> DataTransfer {
        DataTransfer::parse(self.sent.last().unwrap().head.as_bytes()).unwrap()
    }

    /// How the connection ended, as text.
    pub fn end(&self) -> String {
        let ends: Vec<_> = self
            .events
            .iter()
            .filter(|event| matches!(event, Event::Closed(_) | Event::ConnectFailed(_)))
            .map(|event| format!("{event:?}"))
            .collect();
        assert!(ends.len() <= 1, "{ends:?}");
        ends.into_iter().next().unwrap_or_default()
    }

    /// The records of the core and of the device agree, and the credit laws hold.
    pub fn check(&self) {
        let core = self.connection.outstanding();
        let count = |n: usize| u16::try_from(n).unwrap();
        assert_eq!(core.recvs, count(self.posted.len()), "receives posted");
        assert_eq!(core.sends, count(self.sends.len()), "sends posted");
        assert_eq!(core.rdma, count(self.rdma.len()), "RDMA requests posted");
        let working = self.registering.len() + self.binding.len() + self.deregistering.len();
        assert_eq!(core.registrations, count(working), "registrations with the device");
        assert!(core.borrowed >= count(self.fragments.len()), "fragments borrowed");
        if self.connection.phase() == PhaseName::Established {
            let credits = self.connection.credits();
            assert_eq!(credits.posted() + credits.reserve(), u32::from(core.recvs), "receives for data");
            assert!(credits.ungranted() <= credits.posted());
            assert_eq!(i64::from(credits.outstanding()), self.watch.peer_holds(), "what the peer holds");
            assert_eq!(i64::from(credits.send()), self.watch.credits(), "what the peer granted");
        }
    }
}

pub fn flushed(id: WrId) -> Input<'static> {
    Input::Failed { id, error: WorkError::Flushed }
}

pub fn descriptors(remote: &[(u64, u32)]) -> Arc<[BufferDescriptorV1]> {
    (1..)
        .zip(remote)
        .map(|(n, (offset, length))| BufferDescriptorV1 { offset: *offset, token: Token(n), length: *length })
        .collect()
}

/// All events but fragments can be copied.
fn copy(event: &Event) -> Event {
    match event {
        Event::Established(negotiated) => Event::Established(*negotiated),
        Event::ConnectFailed(error) => Event::ConnectFailed(*error),
        Event::Invalidated { id, token } => Event::Invalidated { id: *id, token: *token },
        Event::Sent { msg, result } => Event::Sent { msg: *msg, result: *result },
        Event::RdmaDone { op, result } => Event::RdmaDone { op: *op, result: *result },
        Event::Registered { id, result } => Event::Registered { id: *id, result: *result },
        Event::Deregistered { id, result } => Event::Deregistered { id: *id, result: *result },
        Event::Probed(result) => Event::Probed(*result),
        Event::Writable => Event::Writable,
        Event::Closed(reason) => Event::Closed(*reason),
        Event::Drained => Event::Drained,
        Event::Data(_) => panic!("a fragment cannot be copied"),
    }
}
