//! The server's messages on their way to the client.

use alloc::vec::Vec;

use super::action::ServerBytes;
use super::answer;
use super::deliver::Delivery;
use super::shared::Shared;
use super::step::{Progress, Step, ToClient};
use super::table::Request;
use crate::relay::Reason;
use crate::relay::config::MESSAGE_MAX;
use crate::relay::element::{Element, Front, detach};
use crate::relay::incoming::{Incoming, Taken};
use crate::relay::request::{ANSWER_LEN, Verb};
use crate::relay::session;
use crate::relay::shared::add;
use crate::wire::header;

/// The direction to the client.
#[derive(Debug)]
pub(super) struct Downstream {
    incoming: Incoming,
    state: State,
    /// What goes before the bytes that came: a header of direct TCP (2.1), and perhaps an answer. `given` of its bytes have gone.
    front: Vec<u8>,
    given: usize,
}

/// Where in the server's messages it is.
#[derive(Debug)]
enum State {
    /// Between two messages.
    Between,
    /// The front of a message of `len` bytes is kept until it is clear whether its elements stay together. Those before `at` do.
    Deciding { len: u32, at: usize },
    /// An element begins.
    Element(Mode),
    /// The element goes to the client; `left` bytes of it have not gone yet.
    Sending { mode: Mode, left: usize },
    /// The server's access to buffers is ended, and then the answer goes.
    Delivering { mode: Mode, len: usize, delivery: Delivery },
    /// The rest of an element is not needed.
    Skipping { mode: Mode, left: usize },
}

/// How elements go to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As one message, whose header has gone.
    Together,
    /// There is only one.
    Single,
    /// Each as a message of its own, although they came together.
    Alone,
}

impl Downstream {
    pub(super) const fn new() -> Self {
        Self { incoming: Incoming::new(), state: State::Between, front: Vec::new(), given: 0 }
    }

    /// The next step, with what has arrived and `room` bytes that the client takes.
    pub(super) fn step<'a>(
        &mut self,
        server: &mut ServerBytes<'a>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Step<'a>>, Reason> {
        loop {
            if self.given < self.front.len() {
                return Ok(self.give_front(room, shared));
            }
            match self.advance(server, room, shared)? {
                Progress::Moved => {}
                Progress::Blocked => return Ok(None),
                Progress::Step(step) => return Ok(Some(step)),
            }
        }
    }

    /// Bytes of [`ToClient::Held`].
    pub(super) fn taken(&self, len: usize) -> &[u8] {
        self.incoming.taken(len)
    }

    /// Bytes of [`ToClient::Front`].
    pub(super) fn front(&self, start: usize, end: usize) -> &[u8] {
        self.front.get(start..end).unwrap_or_default()
    }

    fn give_front<'a>(&mut self, room: usize, shared: &mut Shared) -> Option<Step<'a>> {
        let (start, end) = (self.given, self.given.saturating_add(room).min(self.front.len()));
        if start == end {
            return None;
        }
        self.given = end;
        add(&mut shared.statistics.bytes.to_client, end.saturating_sub(start) as u64);
        Some(Step::ToClient(ToClient::Front { start, end }))
    }

    /// Puts the header of direct TCP before what comes next.
    fn frame(&mut self, len: u32, answer: &[u8]) {
        self.front.clear();
        self.front.extend_from_slice(&len.to_be_bytes());
        self.front.extend_from_slice(answer);
        self.given = 0;
    }

    fn advance<'a>(
        &mut self,
        server: &mut ServerBytes<'a>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        match &mut self.state {
            State::Between => self.begin(server),
            State::Deciding { len, at } => {
                let (len, at) = (*len, *at);
                Ok(self.decide(len, at, server, shared))
            }
            State::Element(mode) => {
                let mode = *mode;
                self.element(mode, server, shared)
            }
            State::Sending { .. } => Ok(self.send(server, room, shared)),
            State::Delivering { .. } => self.deliver(room, shared),
            State::Skipping { mode, left } => {
                let skipped = self.incoming.take(&mut server.bytes, *left).len();
                *left = left.saturating_sub(skipped);
                if *left > 0 {
                    return Ok(if skipped == 0 { Progress::Blocked } else { Progress::Moved });
                }
                self.state = State::Element(*mode);
                Ok(Progress::Moved)
            }
        }
    }

    fn begin<'a>(&mut self, server: &ServerBytes<'_>) -> Result<Progress<'a>, Reason> {
        if server.bytes.is_empty() {
            return Ok(Progress::Blocked);
        }
        let len = u32::try_from(server.bytes.len()).unwrap_or(u32::MAX).saturating_add(server.remaining);
        if len > MESSAGE_MAX {
            return Err(Reason::AnswerTooLarge { len, max: MESSAGE_MAX });
        }
        self.incoming.begin(len as usize);
        self.state = State::Deciding { len, at: 0 };
        Ok(Progress::Moved)
    }

    fn go_together(&mut self, len: u32) {
        self.frame(len, &[]);
        self.state = State::Element(Mode::Together);
    }

    /// Looks at the element at `at`.
    fn decide<'a>(
        &mut self,
        len: u32,
        at: usize,
        server: &mut ServerBytes<'a>,
        shared: &Shared,
    ) -> Progress<'a> {
        let wanted = at.saturating_add(header::LEN);
        if wanted > shared.config.params().held_max as usize || shared.table.is_empty() {
            // What is behind is looked at when it comes. Without requests there is nothing to look for.
            self.go_together(len);
            return Progress::Moved;
        }
        if !self.incoming.fill(&mut server.bytes, wanted) {
            return Progress::Blocked;
        }
        let bytes = self.incoming.held().get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        match Element::read(bytes, left) {
            Ok(element) if at == 0 && element.is_last => self.state = State::Element(Mode::Single),
            // Data that came by RDMA enter the message, and others need not wait for the end of a registration.
            Ok(element) if is_final(&element, shared) => self.state = State::Element(Mode::Alone),
            Ok(element) if !element.is_last => {
                self.state = State::Deciding { len, at: at.saturating_add(element.len) };
            }
            Ok(_) | Err(_) => self.go_together(len),
        }
        Progress::Moved
    }

    fn element<'a>(
        &mut self,
        mode: Mode,
        server: &mut ServerBytes<'a>,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        let remaining = self.incoming.remaining();
        if remaining == 0 {
            self.state = State::Between;
            return Ok(Progress::Moved);
        }
        // All that has to be looked at: the answer to a READ up to its data.
        if !self.incoming.fill(&mut server.bytes, ANSWER_LEN) {
            return Ok(Progress::Blocked);
        }
        let held = self.incoming.held_mut();
        let front = Front::read(held).ok();
        session::count_response(held, front.as_ref(), &mut shared.statistics);
        let Ok(element) = Element::read(held, remaining) else {
            self.begin_to_send(mode, remaining);
            return Ok(Progress::Moved);
        };
        if element.header.is_success() {
            shared.seen.look(element.header.command, held);
        }
        match mode {
            Mode::Together if is_final(&element, shared) => {
                let len = u32::try_from(remaining).unwrap_or(u32::MAX);
                return Err(Reason::CompoundTooLong { len, max: shared.config.params().held_max });
            }
            Mode::Together | Mode::Single => {}
            Mode::Alone if element.is_signed() => {
                return Err(Reason::SignedInCompound { message_id: element.header.message_id });
            }
            Mode::Alone => {
                add(&mut shared.statistics.split_answers, 1);
                detach(held).map_err(Reason::BrokenAnswer)?;
            }
        }
        let request = is_answer(&element).then(|| shared.table.remove(element.header.message_id)).flatten();
        match request {
            Some(request) => self.begin_to_deliver(mode, &element, request),
            None => {
                self.begin_to_send(mode, element.len);
                Ok(Progress::Moved)
            }
        }
    }

    fn begin_to_send(&mut self, mode: Mode, len: usize) {
        if mode != Mode::Together {
            self.frame(u32::try_from(len).unwrap_or(u32::MAX), &[]);
        }
        self.state = State::Sending { mode, left: len };
    }

    /// The final answer to a request with a channel. Nothing of it goes while the server has access to a buffer.
    fn begin_to_deliver<'a>(
        &mut self,
        mode: Mode,
        element: &Element,
        request: Request,
    ) -> Result<Progress<'a>, Reason> {
        let moved = match request.verb {
            Verb::Read => answer::moved(element, self.incoming.held(), request.len)?,
            Verb::Write => None,
        };
        self.state = State::Delivering { mode, len: element.len, delivery: Delivery::new(request, moved) };
        Ok(Progress::Moved)
    }

    fn deliver<'a>(&mut self, room: usize, shared: &mut Shared) -> Result<Progress<'a>, Reason> {
        let State::Delivering { mode, len, delivery } = &mut self.state else { return Ok(Progress::Moved) };
        let (mode, len) = (*mode, *len);
        if let Some(step) = delivery.end_access(&mut shared.memory) {
            return Ok(Progress::Step(step));
        }
        if !delivery.has_ended(&mut shared.memory) {
            return Ok(Progress::Blocked);
        }
        if let Some(moved) = delivery.answer() {
            let answer = answer::inline(self.incoming.held(), moved).map_err(Reason::BrokenAnswer)?;
            add(&mut shared.statistics.bytes.rdma_write, moved.into());
            let whole = u32::try_from(answer.len()).unwrap_or_default().saturating_add(moved);
            self.frame(whole, &answer);
            return Ok(Progress::Moved);
        }
        if delivery.is_moved() {
            if let Some(progress) = delivery.data(room, &mut shared.memory) {
                return Ok(progress);
            }
            self.state = State::Skipping { mode, left: len };
        } else {
            self.begin_to_send(mode, len);
        }
        Ok(Progress::Moved)
    }

    fn send<'a>(&mut self, server: &mut ServerBytes<'a>, room: usize, shared: &mut Shared) -> Progress<'a> {
        let State::Sending { mode, left } = &mut self.state else { return Progress::Moved };
        if *left == 0 {
            self.state = State::Element(*mode);
            return Progress::Moved;
        }
        let taken = self.incoming.take(&mut server.bytes, room.min(*left));
        *left = left.saturating_sub(taken.len());
        add(&mut shared.statistics.bytes.to_client, taken.len() as u64);
        let bytes = match taken {
            Taken::Held(0) | Taken::Stream([]) => return Progress::Blocked,
            Taken::Held(len) => ToClient::Held(len),
            Taken::Stream(bytes) => ToClient::Stream(bytes),
        };
        Progress::Step(Step::ToClient(bytes))
    }
}

/// Whether an element answers a request, and no other answer follows.
fn is_answer(element: &Element) -> bool {
    element.header.is_response() && !element.header.is_interim()
}

/// Whether an element is the final answer to a request with a channel.
fn is_final(element: &Element, shared: &Shared) -> bool {
    is_answer(element) && shared.table.contains(element.header.message_id)
}
