//! Two connections on a perfect wire, for tests of the core alone: ideal devices, time by hand, and a trace to read.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::Duration;

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{
    Action, BufferDescriptorV1, Config, Connection, Event, Fragment, Head, Input, Instant, Limits, MsgId,
    Params, RecvId, Role, SendId, Token, WrId,
};

pub const LIMITS: Limits = Limits {
    read_depth: 16,
    send_queue: 4096,
    rdma_len_max: 1 << 30,
    registration_requests: 0,
    send_with_invalidate: true,
};

/// A message on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub head: Head,
    pub len: u32,
    pub invalidate: Option<Token>,
}

/// One end: a connection and its device.
pub struct Side {
    pub name: &'static str,
    pub connection: Connection,
    pub limits: Limits,
    pub posted: VecDeque<(RecvId, u32)>,
    pub sends: VecDeque<(SendId, Message)>,
    pub work: VecDeque<WrId>,
    pub events: Vec<Event>,
    pub fragments: Vec<Fragment>,
    /// Give fragments back as they come.
    pub release: bool,
    pub started: bool,
    pub disconnected: bool,
    next_token: u32,
}

pub struct Pair {
    pub now: Instant,
    pub sides: [Side; 2],
    pub trace: String,
    pub messages: [Vec<Message>; 2],
}

pub const INITIATOR: usize = 0;
pub const ACCEPTOR: usize = 1;

impl Side {
    pub fn new(role: Role, params: Params, now: Instant) -> Self {
        let config = Config::try_from(params).unwrap();
        Self {
            name: if role == Role::Initiator { "initiator" } else { "acceptor" },
            connection: Connection::new(role, &config, now),
            limits: LIMITS,
            posted: VecDeque::new(),
            sends: VecDeque::new(),
            work: VecDeque::new(),
            events: Vec::new(),
            fragments: Vec::new(),
            release: true,
            started: false,
            disconnected: false,
            next_token: 1,
        }
    }

    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        self.connection.handle(now, input).unwrap();
    }

    /// Gives the oldest posted receive a message.
    pub fn receive(&mut self, now: Instant, bytes: &[u8]) {
        self.receive_long(now, bytes, u32::try_from(bytes.len()).unwrap(), None);
    }

    pub fn receive_long(&mut self, now: Instant, bytes: &[u8], len: u32, invalidated: Option<Token>) {
        let (id, _) = self.posted.pop_front().expect("receiver not ready");
        // The payload is all zeros.
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len().max(usize::try_from(len).unwrap().min(Head::MAX)), 0);
        self.handle(now, Input::Received { id, head: Head::of(&bytes), len, invalidated });
    }

    /// Carries out actions until `Wait`, collecting them.
    pub fn drain(&mut self, now: Instant) -> Vec<Action> {
        let mut actions = Vec::new();
        loop {
            let action = self.connection.poll_action();
            match &action {
                Action::Wait(_) => {
                    actions.push(action);
                    return actions;
                }
                Action::PostRecv { id, len } => self.posted.push_back((*id, *len)),
                Action::PostSend { id, head, body, invalidate, .. } => {
                    let len = head.len() + body.map_or(0, |body| body.len);
                    self.sends.push_back((*id, Message { head: *head, len, invalidate: *invalidate }));
                }
                Action::PostRdma { id, .. } => self.work.push_back((*id).into()),
                Action::Register { id, segments_max, .. } => {
                    let descriptor = |n: u16| BufferDescriptorV1 {
                        offset: 0x1000 * u64::from(n),
                        token: Token(self.next_token + u32::from(n)),
                        length: 0x1000,
                    };
                    let segments: Vec<_> = (0..*segments_max).map(descriptor).collect();
                    self.next_token += u32::from(*segments_max);
                    self.handle(now, Input::Registered { id: *id, segments: &segments, settled: true });
                }
                Action::Deregister { id } => self.handle(now, Input::Deregistered { id: *id }),
                Action::Connect | Action::Accept => self.started = true,
                Action::Disconnect => {
                    while let Some((id, _)) = self.posted.pop_front() {
                        self.handle(now, flushed(id.into()));
                    }
                    while let Some((id, _)) = self.sends.pop_front() {
                        self.handle(now, flushed(id.into()));
                    }
                    while let Some(id) = self.work.pop_front() {
                        self.handle(now, flushed(id));
                    }
                    if !self.disconnected {
                        self.disconnected = true;
                        self.handle(now, Input::Disconnected);
                    }
                }
                Action::Notify(_) => {}
            }
            if let Action::Notify(event) = action {
                actions.push(Action::Notify(self.keep(event)));
            } else {
                actions.push(action);
            }
        }
    }

    /// Remembers an event; the trace gets a copy of what can be copied.
    fn keep(&mut self, event: Event) -> Event {
        let shown = match &event {
            Event::Data(_) => Event::Writable,
            other => copy(other),
        };
        if let Event::Data(fragment) = event {
            if self.release {
                self.connection.release(fragment).unwrap();
            } else {
                self.fragments.push(fragment);
            }
            return shown;
        }
        self.events.push(event);
        shown
    }
}

pub fn flushed(id: WrId) -> Input<'static> {
    Input::Failed { id, error: smbd_core::error::WorkError::Flushed }
}

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
        Event::Writable | Event::Data(_) => Event::Writable,
        Event::Closed(reason) => Event::Closed(*reason),
        Event::Drained => Event::Drained,
    }
}

impl Pair {
    pub fn new(initiator: Params, acceptor: Params) -> Self {
        let now = Instant::ORIGIN;
        Self {
            now,
            sides: [Side::new(Role::Initiator, initiator, now), Side::new(Role::Acceptor, acceptor, now)],
            trace: String::new(),
            messages: [Vec::new(), Vec::new()],
        }
    }

    /// Connected and negotiated, all quiet.
    pub fn established(initiator: Params, acceptor: Params) -> Self {
        let mut pair = Self::new(initiator, acceptor);
        pair.connect();
        pair.run();
        pair
    }

    pub fn connect(&mut self) {
        for index in [ACCEPTOR, INITIATOR] {
            self.drain(index);
            let limits = self.sides[index].limits;
            self.sides[index].handle(self.now, Input::Connected { limits });
        }
    }

    pub fn side(&mut self, index: usize) -> &mut Side {
        &mut self.sides[index]
    }

    pub fn send(&mut self, index: usize, len: u64) -> MsgId {
        let now = self.now;
        self.sides[index].connection.send(now, len, None).unwrap()
    }

    pub fn drain(&mut self, index: usize) {
        let now = self.now;
        let actions = self.sides[index].drain(now);
        for action in actions {
            match action {
                Action::PostSend { head, body, .. } => {
                    let len = head.len() + body.map_or(0, |body| body.len);
                    let first = self.messages[index].is_empty();
                    writeln!(
                        self.trace,
                        "{:9} {}",
                        self.sides[index].name,
                        describe(index, first, &head, len)
                    )
                    .unwrap();
                    self.messages[index].push(Message { head, len, invalidate: None });
                }
                Action::Notify(event) if !matches!(event, Event::Writable) => {
                    writeln!(self.trace, "{:9} {event:?}", self.sides[index].name).unwrap();
                }
                _ => {}
            }
        }
    }

    /// Moves one message from `from` to the other side and completes its send.
    pub fn deliver(&mut self, from: usize) -> bool {
        let now = self.now;
        let Some((id, message)) = self.sides[from].sends.pop_front() else { return false };
        self.sides[from].handle(now, Input::Sent { id });
        let to = &mut self.sides[1 - from];
        if !to.disconnected {
            to.receive_long(now, message.head.as_bytes(), message.len, message.invalidate);
        }
        true
    }

    /// Until nothing moves any more; panics if that takes for ever.
    pub fn run(&mut self) {
        for _ in 0..200_000 {
            self.drain(INITIATOR);
            self.drain(ACCEPTOR);
            let moved = self.deliver(INITIATOR) | self.deliver(ACCEPTOR);
            let worked = self.complete_work(INITIATOR) | self.complete_work(ACCEPTOR);
            if !moved && !worked {
                return;
            }
        }
        panic!("the pair never becomes quiet");
    }

    fn complete_work(&mut self, index: usize) -> bool {
        let now = self.now;
        let Some(WrId::Rdma(id)) = self.sides[index].work.pop_front() else { return false };
        self.sides[index].handle(now, Input::RdmaDone { id });
        true
    }

    /// Lets time pass to `after` from now, waking whoever asks for it.
    pub fn sleep(&mut self, after: Duration) {
        let until = self.now.saturating_add(after);
        loop {
            let deadline = |side: &mut Side, now| match side.drain(now).pop() {
                Some(Action::Wait(deadline)) => deadline,
                _ => None,
            };
            let now = self.now;
            let next = self.sides.iter_mut().filter_map(|side| deadline(side, now)).min();
            match next.filter(|next| *next <= until) {
                Some(next) => {
                    self.now = self.now.max(next);
                    for side in &mut self.sides {
                        side.handle(next, Input::Timeout);
                    }
                    self.run();
                }
                None => break,
            }
        }
        self.now = until;
    }

    /// Data Transfer headers sent by `index`, negotiation left out.
    pub fn data_headers(&self, index: usize) -> Vec<DataTransfer> {
        self.messages[index][1..].iter().map(|m| DataTransfer::parse(m.head.as_bytes()).unwrap()).collect()
    }
}

fn describe(index: usize, first: bool, head: &Head, len: u32) -> String {
    let bytes = head.as_bytes();
    if first && index == INITIATOR {
        return format!("{:?}", NegotiateRequest::parse(bytes).unwrap());
    }
    if first {
        return format!("{:?}", NegotiateResponse::parse(bytes).unwrap());
    }
    let DataTransfer {
        credits_requested,
        credits_granted,
        flags,
        remaining_data_length,
        data_offset,
        data_length,
    } = DataTransfer::parse(bytes).unwrap();
    format!(
        "data requested={credits_requested} granted={credits_granted} flags={:#x} remaining={remaining_data_length} \
         offset={data_offset} length={data_length} ({len} bytes)",
        flags.0
    )
}
