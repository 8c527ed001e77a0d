//! The server's messages on their way to the client.

use alloc::boxed::Box;

use super::action::{Action, BufferId, Idle, Misuse, Placement, Transfer, Way};
use super::answer::{self, Place};
use super::config::{Config, MESSAGE_MAX};
use super::deliver::{Delivery, Parts, Use};
use super::element::{Element, Front, detach};
use super::incoming::Incoming;
use super::pending::{Data, Request};
use super::position::{Mode, Outgoing, State, frame};
use super::reason::Reason;
use super::request::ANSWER_LEN;
use super::session;
use super::shared::{Shared, add};
use super::slots::Slots;
use super::step::{Progress, Step};
use crate::wire::{Token, header};

/// The direction to the client.
#[derive(Debug)]
pub(super) struct Downstream {
    incoming: Incoming,
    state: State,
    /// Buffers whose data are written to the client's memory, or will be.
    slots: Slots<Use>,
    /// The answer that goes behind data, or went last.
    answer: [u8; ANSWER_LEN],
    /// The token that it invalidates.
    invalidate: Option<Token>,
}

impl Downstream {
    pub(super) fn new(config: &Config) -> Self {
        let slots = Slots::new(config.buffers());
        let (incoming, answer) = (Incoming::new(), [0; ANSWER_LEN]);
        Self { incoming, state: State::FRAMING, slots, answer, invalidate: None }
    }

    /// The next step, with what has arrived and `room` bytes that the client takes.
    pub(super) fn step(
        &mut self,
        server: &mut &[u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Step, Box<Reason>> {
        loop {
            match &mut self.state {
                State::Delivering(delivery) => {
                    let buffer_len = shared.config.params().buffer_len;
                    return Ok(delivery.step(&mut self.incoming, server, room, &mut self.slots, buffer_len));
                }
                State::Sending { left, .. } => {
                    return Ok(match self.incoming.available(server, room.min(*left)) {
                        0 => Step::Blocked,
                        len => Step::Send(len),
                    });
                }
                State::Framing { .. }
                | State::Deciding { .. }
                | State::Element(_)
                | State::Skipping { .. } => {
                    if let Progress::Step(step) = self.advance(server, shared)? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    /// Whether it waits for bytes of the server only.
    #[inline]
    pub(super) fn is_idle(&self, buffer_len: u32) -> bool {
        let is_waiting = match &self.state {
            State::Delivering(delivery) => delivery.is_waiting(buffer_len),
            State::Framing { .. }
            | State::Deciding { .. }
            | State::Element(_)
            | State::Sending { .. }
            | State::Skipping { .. } => true,
        };
        is_waiting && self.incoming.is_in_stream()
    }

    /// Whether a message has come in part, or has not gone yet.
    pub(super) fn is_amid_message(&self) -> bool {
        self.state.is_amid_message(&self.incoming)
    }

    /// [`Step::Send`].
    #[inline]
    pub(super) fn send<'r, 'a: 'r>(
        &'r mut self,
        len: usize,
        server: &mut &'a [u8],
        shared: &mut Shared,
    ) -> Action<'r> {
        let taken = self.incoming.take(server, len);
        let State::Sending { mode, left, outgoing } = &mut self.state else {
            return Action::Idle(Idle::default());
        };
        *left = left.saturating_sub(len);
        let sent = u32::try_from(len).unwrap_or(u32::MAX);
        outgoing.remaining = outgoing.remaining.saturating_sub(sent);
        let Outgoing { remaining, invalidate } = *outgoing;
        add(&mut shared.statistics.bytes.to_client, len as u64);
        if *left == 0 {
            let mode = match *mode {
                Mode::Together { .. } => Mode::Together { remaining },
                mode @ (Mode::Single | Mode::Alone) => mode,
            };
            self.state = State::behind(&self.incoming, 0, mode);
        }
        Action::ToClient { bytes: self.incoming.bytes(taken), remaining, invalidate }
    }

    /// [`Step::Answer`].
    #[inline]
    pub(super) fn answer(&mut self, start: u8, end: u8, shared: &mut Shared) -> Action<'_> {
        add(&mut shared.statistics.bytes.to_client, end.saturating_sub(start).into());
        if let State::Delivering(delivery) = &mut self.state
            && let Some(left) = delivery.answer(end)
        {
            self.state = State::behind(&self.incoming, left, Mode::Alone);
        }
        let bytes = self.answer.get(start.into()..end.into()).unwrap_or_default();
        let remaining = (ANSWER_LEN as u32).saturating_sub(end.into());
        Action::ToClient { bytes, remaining, invalidate: self.invalidate }
    }

    /// [`Step::Write`].
    #[inline]
    pub(super) fn write(&mut self, index: u16, len: u32, shared: &mut Shared) -> Option<Transfer> {
        let State::Delivering(delivery) = &mut self.state else { return None };
        delivery.write(index, len, &mut self.slots, shared)
    }

    /// [`Step::Store`].
    #[inline]
    pub(super) fn store<'r, 'a: 'r>(
        &'r mut self,
        index: u16,
        offset: u32,
        len: u32,
        server: &mut &'a [u8],
    ) -> Action<'r> {
        if let State::Delivering(delivery) = &mut self.state {
            delivery.store(index, offset, len);
        }
        let buffer = BufferId { way: Way::ToClient, index };
        let taken = self.incoming.take(server, len as usize);
        Action::Store { buffer, offset, bytes: self.incoming.bytes(taken) }
    }

    /// An RDMA Write has ended.
    pub(super) fn on_written(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        match self.slots.get(buffer.index) {
            Some(Use::Writing) => {
                self.slots.free(buffer.index);
                Ok(())
            }
            Some(Use::Filling) | None => Err(Misuse { event: "RdmaDone", buffer }),
        }
    }

    /// Where the next bytes of the stream can be put at once.
    pub(super) fn placement(&mut self, shared: &Shared) -> Option<Placement> {
        let State::Delivering(delivery) = &mut self.state else { return None };
        let buffer_len = shared.config.params().buffer_len;
        delivery.placement(&self.incoming, &mut self.slots, buffer_len)
    }

    /// Bytes were put there.
    pub(super) fn on_placed(&mut self, buffer: BufferId, len: u32, shared: &Shared) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Placed", buffer };
        let State::Delivering(delivery) = &mut self.state else { return Err(misuse) };
        let (index, buffer_len) = (buffer.index, shared.config.params().buffer_len);
        let is_possible = delivery.on_placed(&mut self.incoming, index, len, buffer_len);
        if is_possible { Ok(()) } else { Err(misuse) }
    }

    /// Goes on to the next element.
    #[inline(never)]
    fn advance(&mut self, server: &mut &[u8], shared: &mut Shared) -> Result<Progress, Box<Reason>> {
        // As long as it is not clear how the elements of a message go, `at` says where that is looked for.
        let (mode, mut at) = match &mut self.state {
            State::Framing { header, have } => {
                let Some(header) = frame(header, have, server) else { return Ok(Progress::BLOCKED) };
                // 2.1: the first byte is 0. A message of 0 bytes cannot be sent to the client.
                if header == 0 || header > MESSAGE_MAX {
                    return Err(Reason::Framing { header }.into());
                }
                self.incoming.begin(header as usize);
                self.state = State::Deciding { len: header, at: 0 };
                (Mode::Together { remaining: header }, Some(0))
            }
            State::Deciding { len, at } => (Mode::Together { remaining: *len }, Some(*at)),
            State::Element(mode) => (*mode, None),
            State::Sending { .. } | State::Delivering(_) => return Ok(Progress::Moved),
            State::Skipping { left } => {
                let left = *left;
                return Ok(self.skip(left, server));
            }
        };
        // If there is only one element, it is looked at further: the answer to a READ up to its data.
        let mut start = at.unwrap_or(0);
        let mut wanted = if start == 0 { ANSWER_LEN } else { start.saturating_add(header::LEN) };
        if at.is_some() && (wanted > shared.config.held_max() || shared.pending.is_empty()) {
            // What is behind is looked at when it comes. Without requests there is nothing to look for.
            self.state = State::Element(mode);
            (at, start, wanted) = (None, 0, ANSWER_LEN);
        }
        if !self.incoming.has(server, wanted) {
            return Ok(Progress::BLOCKED);
        }
        let bytes = self.incoming.front(server, wanted).get(start..).unwrap_or_default();
        let header = Front::read(bytes).ok();
        let mode = match at {
            None => mode,
            Some(at) => {
                let left = self.incoming.remaining().saturating_sub(at);
                let element = header.and_then(|header| Element::of(header, left).ok());
                match self.decide(mode, at, element.as_ref(), shared) {
                    Some(mode) => mode,
                    None => return Ok(Progress::Moved),
                }
            }
        };
        self.on_element(mode, header.as_ref(), server, shared)?;
        Ok(Progress::Moved)
    }

    /// How the elements of a message go, if its first one can go now; `element` is the one at `at`.
    #[inline]
    fn decide(
        &mut self,
        together: Mode,
        at: usize,
        element: Option<&Element>,
        shared: &Shared,
    ) -> Option<Mode> {
        let Mode::Together { remaining: len } = together else { return Some(together) };
        let is_awaited =
            |element: &Element| element.is_final() && shared.pending.contains(element.header.message_id);
        let mode = match element {
            Some(element) if at == 0 && element.is_last => Mode::Single,
            // One Send invalidates one token, and data that go by RDMA leave the message.
            Some(element) if is_awaited(element) => Mode::Alone,
            Some(element) if !element.is_last => {
                self.state = State::Deciding { len, at: at.saturating_add(element.len) };
                return None;
            }
            Some(_) | None => together,
        };
        if at == 0 {
            return Some(mode);
        }
        self.state = State::Element(mode);
        None
    }

    /// Leaves out `left` bytes of an element.
    #[inline]
    fn skip(&mut self, left: usize, server: &mut &[u8]) -> Progress {
        let skipped = self.incoming.take(server, left).len();
        self.state = State::behind(&self.incoming, left.saturating_sub(skipped), Mode::Alone);
        if skipped == 0 { Progress::BLOCKED } else { Progress::Moved }
    }

    /// An element begins, and as much as has to be looked at is there.
    #[inline]
    fn on_element(
        &mut self,
        mode: Mode,
        header: Option<&Front>,
        server: &mut &[u8],
        shared: &mut Shared,
    ) -> Result<(), Reason> {
        let remaining = self.incoming.remaining();
        let Some(element) = header.and_then(|header| Element::of(*header, remaining).ok()) else {
            let front = self.incoming.front(server, ANSWER_LEN);
            session::count_response(front, header, &mut shared.statistics);
            return self.begin_to_send(mode, remaining, None, shared);
        };
        session::count_response(&[], header, &mut shared.statistics);
        let request =
            if element.is_final() { shared.pending.remove(element.header.message_id) } else { None };
        match mode {
            Mode::Together { remaining } if request.is_some() => {
                let max = shared.config.params().held_max;
                return Err(Reason::CompoundTooLong { len: remaining, max });
            }
            Mode::Together { .. } | Mode::Single => {}
            Mode::Alone => self.detach(&element, server, shared)?,
        }
        match request {
            Some(request) => self.answer_of_channel(mode, &element, request, server, shared),
            None => self.begin_to_send(mode, element.len, None, shared),
        }
    }

    /// The final answer to a request with a channel.
    #[inline]
    fn answer_of_channel(
        &mut self,
        mode: Mode,
        element: &Element,
        Request { invalidate, data }: Request,
        server: &[u8],
        shared: &mut Shared,
    ) -> Result<(), Reason> {
        let message_id = element.header.message_id;
        let Data::Read { length, remote } = data else {
            return self.begin_to_send(mode, element.len, invalidate, shared);
        };
        let held = self.incoming.front(server, ANSWER_LEN.min(element.len));
        let place = answer::place(held, element.header.status, element.len).map_err(Reason::BrokenAnswer)?;
        let Some(Place { gap, len }) = place else {
            shared.pending.reuse(remote);
            return self.begin_to_send(mode, element.len, invalidate, shared);
        };
        if element.is_signed() {
            return Err(Reason::SignedAnswer { message_id });
        }
        if len > length {
            return Err(Reason::TooMuchData { message_id, len, asked: length });
        }
        self.answer = answer::moved(held, len).map_err(Reason::BrokenAnswer)?;
        let front = ANSWER_LEN.saturating_add(gap);
        let rest = element.len.saturating_sub(front).saturating_sub(len as usize);
        // A list that is not needed can be used again.
        let remote = if len > 0 {
            Some(remote)
        } else {
            shared.pending.reuse(remote);
            None
        };
        self.invalidate = invalidate;
        self.state = State::Delivering(Delivery::new(remote, Parts { front, data: len, rest }));
        Ok(())
    }

    #[inline]
    fn begin_to_send(
        &mut self,
        mode: Mode,
        element: usize,
        invalidate: Option<Token>,
        shared: &Shared,
    ) -> Result<(), Reason> {
        let remaining = match mode {
            Mode::Together { remaining } => remaining,
            Mode::Single | Mode::Alone => u32::try_from(element).unwrap_or(u32::MAX),
        };
        let max = shared.config.params().max_fragmented_size;
        if remaining > max {
            return Err(Reason::AnswerTooLarge { len: remaining, max });
        }
        let outgoing = Outgoing { remaining, invalidate };
        self.state = State::Sending { mode, left: element, outgoing };
        Ok(())
    }

    /// Makes a message of its own of an element of a compound.
    fn detach(&mut self, element: &Element, server: &mut &[u8], shared: &mut Shared) -> Result<(), Reason> {
        if element.is_signed() {
            return Err(Reason::SignedInCompound { message_id: element.header.message_id });
        }
        add(&mut shared.statistics.split_answers, 1);
        // What is changed is kept.
        self.incoming.fill(server, ANSWER_LEN);
        detach(self.incoming.held_mut()).map_err(Reason::BrokenAnswer)
    }
}
