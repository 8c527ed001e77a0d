//! The server's messages on their way to the client.

use super::action::{BufferId, Misuse, Placement};
use super::answer::{self, Place};
use super::config::{Config, MESSAGE_MAX};
use super::deliver::{Delivery, Parts, Use};
use super::element::{Element, Front, detach};
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
    #[inline]
    pub(super) fn step<'a>(
        &mut self,
        server: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Result<(), Reason> {
        while self.advance(server, room, shared, out)? == Progress::Moved {}
        Ok(())
    }

    /// Whether it waits for bytes of the server only.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.incoming.is_in_stream() && !matches!(self.state, State::Delivering(_))
    }

    /// Whether a message has come in part, or has not gone yet.
    pub(super) fn is_amid_message(&self) -> bool {
        // What is over stays as it is until more comes.
        let has_rest = match &self.state {
            State::Framing { have, .. } => return *have > 0,
            State::Deciding { .. } => true,
            State::Element(_) => false,
            State::Sending { left, .. } | State::Skipping { left } => *left > 0,
            State::Delivering(delivery) => delivery.is_over() != Some(0),
        };
        has_rest || self.incoming.remaining() > 0
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

    #[inline]
    fn advance<'a>(
        &mut self,
        server: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Result<Progress, Reason> {
        match &mut self.state {
            State::Framing { header, have } => {
                if *have == 0
                    && let Some((header, rest)) = server.split_first_chunk()
                {
                    *server = rest;
                    return self.begin(u32::from_be_bytes(*header), server, shared);
                }
                let bytes = split(server, header.len().saturating_sub(*have));
                header.iter_mut().skip(*have).zip(bytes).for_each(|(to, from)| *to = *from);
                *have = have.saturating_add(bytes.len());
                if *have < header.len() {
                    return Ok(Progress::Blocked);
                }
                let header = u32::from_be_bytes(*header);
                self.begin(header, server, shared)
            }
            State::Deciding { len, at } => {
                let (len, at) = (*len, *at);
                self.decide(len, at, server, shared)
            }
            State::Element(mode) => {
                let mode = *mode;
                self.element(mode, server, shared)
            }
            State::Sending { .. } => Ok(self.send(server, room, shared, out)),
            State::Delivering(delivery) => match delivery.is_over() {
                None => Ok(delivery.step(&mut self.incoming, server, room, &mut self.slots, shared, out)),
                Some(left) => {
                    shared.pending.reuse(delivery.remote());
                    Ok(self.skip(left, server))
                }
            },
            State::Skipping { left } => {
                let left = *left;
                Ok(self.skip(left, server))
            }
        }
    }

    /// Leaves out `left` bytes of an element.
    #[inline]
    fn skip(&mut self, left: usize, server: &mut &[u8]) -> Progress {
        let skipped = if left > 0 { self.incoming.take(server, left).len() } else { 0 };
        let left = left.saturating_sub(skipped);
        if left > 0 {
            self.state = State::Skipping { left };
            return if skipped == 0 { Progress::Blocked } else { Progress::Moved };
        }
        let is_over = self.incoming.remaining() == 0;
        self.state = if is_over { State::FRAMING } else { State::Element(Mode::Alone) };
        Progress::Moved
    }

    #[inline]
    fn begin(&mut self, header: u32, server: &mut &[u8], shared: &mut Shared) -> Result<Progress, Reason> {
        // 2.1: the first byte is 0. A message of 0 bytes cannot be sent to the client.
        if header == 0 || header > MESSAGE_MAX {
            return Err(Reason::Framing { header });
        }
        self.incoming.begin(header as usize);
        self.state = State::Deciding { len: header, at: 0 };
        self.decide(header, 0, server, shared)
    }

    /// Looks at the element at `at`.
    #[inline]
    fn decide(
        &mut self,
        len: u32,
        at: usize,
        server: &mut &[u8],
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
        let together = Mode::Together { remaining: len };
        // If there is only one element, it is looked at further.
        let wanted = if at == 0 { ANSWER_LEN } else { at.saturating_add(header::LEN) };
        if wanted > shared.config.held_max() || shared.pending.is_empty() {
            // What is behind is looked at when it comes. Without requests there is nothing to look for.
            self.state = State::Element(together);
            return self.element(together, server, shared);
        }
        if !self.incoming.fill(server, wanted) {
            return Ok(Progress::Blocked);
        }
        let bytes = self.incoming.held().get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        let is_awaited =
            |element: &Element| element.is_final() && shared.pending.contains(element.header.message_id);
        self.state = match Element::read(bytes, left) {
            Ok(element) if at == 0 && element.is_last => {
                return self.on_element(Mode::Single, Some(&element.header), shared);
            }
            // One Send invalidates one token, and data that go by RDMA leave the message.
            Ok(element) if is_awaited(&element) => State::Element(Mode::Alone),
            Ok(element) if !element.is_last => State::Deciding { len, at: at.saturating_add(element.len) },
            Ok(_) | Err(_) => State::Element(together),
        };
        Ok(Progress::Moved)
    }

    fn element(&mut self, mode: Mode, server: &mut &[u8], shared: &mut Shared) -> Result<Progress, Reason> {
        if self.incoming.remaining() == 0 {
            self.state = State::FRAMING;
            return Ok(Progress::Moved);
        }
        // All that has to be looked at: the answer to a READ up to its data.
        if !self.incoming.fill(server, ANSWER_LEN) {
            return Ok(Progress::Blocked);
        }
        let header = Front::read(self.incoming.held()).ok();
        self.on_element(mode, header.as_ref(), shared)
    }

    /// An element begins, and as much as has to be looked at is there.
    #[inline]
    fn on_element(
        &mut self,
        mode: Mode,
        header: Option<&Front>,
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
        let remaining = self.incoming.remaining();
        let held = self.incoming.held_mut();
        session::count_response(held, header, &mut shared.statistics);
        let Some(element) = header.and_then(|header| Element::of(*header, remaining).ok()) else {
            return self.begin_to_send(mode, remaining, None, shared);
        };
        let request =
            if element.is_final() { shared.pending.remove(element.header.message_id) } else { None };
        match mode {
            Mode::Together { remaining } if request.is_some() => {
                let max = shared.config.params().held_max;
                return Err(Reason::CompoundTooLong { len: remaining, max });
            }
            Mode::Together { .. } | Mode::Single => {}
            Mode::Alone => alone(&element, held, shared)?,
        }
        match request {
            Some(request) => self.answer_of_channel(mode, &element, request, shared),
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
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
        let message_id = element.header.message_id;
        let held = self.incoming.held();
        let held = held.get(..element.len).unwrap_or(held);
        let Data::Read { length, remote } = data else {
            return self.begin_to_send(mode, element.len, invalidate, shared);
        };
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
        let answer = answer::moved(held, len).map_err(Reason::BrokenAnswer)?;
        let front = ANSWER_LEN.saturating_add(gap);
        let rest = element.len.saturating_sub(front).saturating_sub(len as usize);
        let delivery = Delivery::new(remote, invalidate, answer, Parts { front, data: len, rest });
        self.state = State::Delivering(delivery);
        Ok(Progress::Moved)
    }

    #[inline]
    fn begin_to_send(
        &mut self,
        mode: Mode,
        element: usize,
        invalidate: Option<Token>,
        shared: &Shared,
    ) -> Result<Progress, Reason> {
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

    #[inline]
    fn send<'a>(
        &mut self,
        server: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Progress {
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
        *out = Some(Step::ToClient { bytes, remaining, invalidate });
        Progress::Stepped
    }
}

/// Makes a message of its own of an element of a compound.
fn alone(element: &Element, held: &mut [u8], shared: &mut Shared) -> Result<(), Reason> {
    if element.is_signed() {
        return Err(Reason::SignedInCompound { message_id: element.header.message_id });
    }
    add(&mut shared.statistics.split_answers, 1);
    detach(held).map_err(Reason::BrokenAnswer)
}
