//! The server's messages on their way to the client.

use super::action::{BufferId, Misuse, Placement, Way};
use super::answer::{self, Place};
use super::config::{Config, MESSAGE_MAX};
use super::deliver::{Delivery, Parts, Use};
use super::element::{Element, detach, is_plain};
use super::incoming::{Incoming, Taken, split};
use super::pending::{Data, Request};
use super::reason::Reason;
use super::request::ANSWER_LEN;
use super::session;
use super::shared::{Shared, add};
use super::slots::Slots;
use super::step::{Progress, Step, ToClient};
use crate::wire::{Token, header};

/// The direction to the client.
#[derive(Debug)]
pub(super) struct Downstream {
    incoming: Incoming,
    state: State,
    /// Buffers whose data are written to the client's memory, or will be.
    slots: Slots<Use>,
}

/// Where in the server's stream it is.
#[derive(Debug)]
enum State {
    /// In the header of direct TCP (2.1).
    Framing { header: [u8; 4], have: usize },
    /// The front of a message of `len` bytes is kept until it is clear whether its elements stay together. Those before `at` do.
    Deciding { len: u32, at: usize },
    /// An element begins.
    Element(Mode),
    /// The element goes to the client; `left` bytes of it have not gone yet.
    Sending { mode: Mode, left: usize, outgoing: Outgoing },
    /// Data go to the client's memory.
    Delivering(Delivery),
    /// The rest of an element is not needed.
    Skipping { left: usize },
}

/// How elements go to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As one message; `remaining` bytes of it have not gone yet.
    Together { remaining: u32 },
    /// There is only one.
    Single,
    /// Each as a message of its own, although they came together.
    Alone,
}

/// A message to the client, of which `remaining` bytes have not gone yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outgoing {
    remaining: u32,
    invalidate: Option<Token>,
}

impl State {
    const FRAMING: Self = Self::Framing { header: [0; 4], have: 0 };
}

impl Downstream {
    pub(super) fn new(config: &Config) -> Self {
        Self { incoming: Incoming::new(), state: State::FRAMING, slots: Slots::new(config.buffers()) }
    }

    /// The next step, with what has arrived and `room` bytes that the client takes.
    pub(super) fn step<'a>(
        &mut self,
        server: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Step<'a>>, Reason> {
        loop {
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

    /// Bytes of [`ToClient::Answer`].
    pub(super) fn answer(&self, start: usize, end: usize) -> &[u8] {
        match &self.state {
            State::Delivering(delivery) => delivery.answer(start, end),
            State::Framing { .. }
            | State::Deciding { .. }
            | State::Element(_)
            | State::Sending { .. }
            | State::Skipping { .. } => &[],
        }
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
        let (index, offset, len) = delivery.placement(&self.incoming, &mut self.slots, buffer_len)?;
        Some(Placement { buffer: BufferId { way: Way::ToClient, index }, offset, len })
    }

    /// Bytes were put there.
    pub(super) fn on_placed(&mut self, buffer: BufferId, len: u32, shared: &Shared) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Placed", buffer };
        let State::Delivering(delivery) = &mut self.state else { return Err(misuse) };
        let (index, buffer_len) = (buffer.index, shared.config.params().buffer_len);
        let is_possible = delivery.on_placed(&mut self.incoming, index, len, buffer_len);
        if is_possible { Ok(()) } else { Err(misuse) }
    }

    fn advance<'a>(
        &mut self,
        server: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        match &mut self.state {
            State::Framing { header, have } => {
                let bytes = split(server, header.len().saturating_sub(*have));
                header.iter_mut().skip(*have).zip(bytes).for_each(|(to, from)| *to = *from);
                *have = have.saturating_add(bytes.len());
                if *have < header.len() {
                    return Ok(Progress::Blocked);
                }
                let header = u32::from_be_bytes(*header);
                self.begin(header)
            }
            State::Deciding { len, at } => {
                let (len, at) = (*len, *at);
                Ok(self.decide(len, at, server, shared))
            }
            State::Element(mode) => {
                let mode = *mode;
                self.element(mode, server, shared)
            }
            State::Sending { .. } => Ok(self.send(server, room, shared)),
            State::Delivering(delivery) => {
                let Some(left) = delivery.is_over() else {
                    return Ok(delivery.step(&mut self.incoming, server, room, &mut self.slots, shared));
                };
                self.state = State::Skipping { left };
                Ok(Progress::Moved)
            }
            State::Skipping { left } => {
                let skipped = self.incoming.take(server, *left).len();
                *left = left.saturating_sub(skipped);
                if *left > 0 {
                    return Ok(if skipped == 0 { Progress::Blocked } else { Progress::Moved });
                }
                self.state = State::Element(Mode::Alone);
                Ok(Progress::Moved)
            }
        }
    }

    fn begin<'a>(&mut self, header: u32) -> Result<Progress<'a>, Reason> {
        // 2.1: the first byte is 0. A message of 0 bytes cannot be sent to the client.
        if header == 0 || header > MESSAGE_MAX {
            return Err(Reason::Framing { header });
        }
        self.incoming.begin(header as usize);
        self.state = State::Deciding { len: header, at: 0 };
        Ok(Progress::Moved)
    }

    /// Looks at the element at `at`.
    fn decide<'a>(&mut self, len: u32, at: usize, server: &mut &'a [u8], shared: &Shared) -> Progress<'a> {
        let together = State::Element(Mode::Together { remaining: len });
        let wanted = at.saturating_add(header::LEN);
        if wanted > shared.config.held_max() || shared.pending.is_empty() {
            // What is behind is looked at when it comes. Without requests there is nothing to look for.
            self.state = together;
            return Progress::Moved;
        }
        if !self.incoming.fill(server, wanted) {
            return Progress::Blocked;
        }
        let bytes = self.incoming.held().get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        self.state = match Element::read(bytes, left).ok().filter(|_| is_plain(bytes)) {
            Some(element) if at == 0 && element.is_last => State::Element(Mode::Single),
            // One Send invalidates one token, and data that go by RDMA leave the message.
            Some(element) if is_final(&element, shared) => State::Element(Mode::Alone),
            Some(element) if !element.is_last => State::Deciding { len, at: at.saturating_add(element.len) },
            Some(_) | None => together,
        };
        Progress::Moved
    }

    fn element<'a>(
        &mut self,
        mode: Mode,
        server: &mut &'a [u8],
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        let remaining = self.incoming.remaining();
        if remaining == 0 {
            self.state = State::FRAMING;
            return Ok(Progress::Moved);
        }
        // All that has to be looked at: the answer to a READ up to its data.
        if !self.incoming.fill(server, ANSWER_LEN) {
            return Ok(Progress::Blocked);
        }
        let held = self.incoming.held_mut();
        session::count_response(held, &mut shared.statistics);
        let element = match Element::read(held, remaining) {
            Ok(element) if is_plain(held) => element,
            Ok(_) | Err(_) => return self.begin_to_send(mode, remaining, None, shared),
        };
        match mode {
            Mode::Together { remaining } if is_final(&element, shared) => {
                let max = shared.config.params().held_max;
                return Err(Reason::CompoundTooLong { len: remaining, max });
            }
            Mode::Together { .. } | Mode::Single => {}
            Mode::Alone => alone(&element, held, shared)?,
        }
        if is_final(&element, shared) {
            return self.answer_of_channel(mode, &element, shared);
        }
        self.begin_to_send(mode, element.len, None, shared)
    }

    /// The final answer to a request with a channel.
    fn answer_of_channel<'a>(
        &mut self,
        mode: Mode,
        element: &Element,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        let message_id = element.header.message_id;
        let Some(Request { invalidate, data }) = shared.pending.remove(message_id) else {
            return Ok(Progress::Moved);
        };
        let held = self.incoming.held();
        let held = held.get(..element.len).unwrap_or(held);
        if let Data::Read { length, remote } = data
            && answer::may_have_data(element.header.status)
            && let Some(Place { gap, len }) =
                answer::place(held, element.header.status, element.len).map_err(Reason::BrokenAnswer)?
        {
            if element.is_signed() {
                return Err(Reason::SignedAnswer { message_id });
            }
            if len > length {
                return Err(Reason::TooMuchData { message_id, len, asked: length });
            }
            let answer = answer::moved(held, len).map_err(Reason::BrokenAnswer)?;
            let front = ANSWER_LEN.saturating_add(gap);
            let rest = element.len.saturating_sub(front).saturating_sub(len as usize);
            let delivery = Delivery::new(remote, invalidate, answer, Parts { front, data: len, rest });
            self.state = State::Delivering(delivery);
            return Ok(Progress::Moved);
        }
        self.begin_to_send(mode, element.len, invalidate, shared)
    }

    fn begin_to_send<'a>(
        &mut self,
        mode: Mode,
        element: usize,
        invalidate: Option<Token>,
        shared: &Shared,
    ) -> Result<Progress<'a>, Reason> {
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
        Ok(Progress::Moved)
    }

    fn send<'a>(&mut self, server: &mut &'a [u8], room: usize, shared: &mut Shared) -> Progress<'a> {
        let State::Sending { mode, left, outgoing } = &mut self.state else { return Progress::Moved };
        if *left == 0 {
            let mode = match mode {
                Mode::Together { .. } => Mode::Together { remaining: outgoing.remaining },
                Mode::Single | Mode::Alone => *mode,
            };
            self.state = State::Element(mode);
            return Progress::Moved;
        }
        let taken = self.incoming.take(server, room.min(*left));
        let len = taken.len();
        *left = left.saturating_sub(len);
        outgoing.remaining = outgoing.remaining.saturating_sub(u32::try_from(len).unwrap_or(u32::MAX));
        let Outgoing { remaining, invalidate } = *outgoing;
        add(&mut shared.statistics.bytes.to_client, len as u64);
        let bytes = match taken {
            Taken::Held(0) | Taken::Stream([]) => return Progress::Blocked,
            Taken::Held(len) => ToClient::Held(len),
            Taken::Stream(bytes) => ToClient::Stream(bytes),
        };
        Progress::Step(Step::ToClient { bytes, remaining, invalidate })
    }
}

/// Whether an element is the final answer to a request with a channel.
fn is_final(element: &Element, shared: &Shared) -> bool {
    let header = &element.header;
    header.is_response() && !element.is_interim() && shared.pending.contains(header.message_id)
}

/// Makes a message of its own of an element of a compound.
fn alone(element: &Element, held: &mut [u8], shared: &mut Shared) -> Result<(), Reason> {
    if element.is_signed() {
        return Err(Reason::SignedInCompound { message_id: element.header.message_id });
    }
    add(&mut shared.statistics.split_answers, 1);
    detach(held).map_err(Reason::BrokenAnswer)
}
