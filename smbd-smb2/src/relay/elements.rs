//! Which element of the server's messages comes next, and how it goes to the client.

use alloc::boxed::Box;

use super::answer::{self, Place};
use super::config::MESSAGE_MAX;
use super::deliver::{Delivery, Parts};
use super::element::{Element, Front, detach};
use super::pending::{Data, Request};
use super::position::{Mode, Outgoing, State, frame};
use super::reason::Reason;
use super::request::ANSWER_LEN;
use super::seen::Seen;
use super::server::Downstream;
use super::session;
use super::shared::{Shared, add};
use super::step::{Down, Progress};
use crate::wire::{Command, Token, header};

/// An element that goes to the client, of so many bytes.
struct Passing {
    len: usize,
    invalidate: Option<Token>,
}

impl Downstream {
    /// Goes on to the next element.
    #[inline]
    pub(super) fn advance(
        &mut self,
        server: &mut &[u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<Down>, Box<Reason>> {
        let (mode, header) = match self.single(server) {
            Some(header) => (Mode::Single, Some(header)),
            None => match self.look_on(server, shared)? {
                Some(element) => element,
                None => return Ok(Progress::Blocked),
            },
        };
        let Some(Passing { len, invalidate }) = self.on_element(mode, header.as_ref(), server, shared)?
        else {
            return Ok(Progress::Moved);
        };
        let remaining = match mode {
            Mode::Together { remaining } => remaining,
            Mode::Single | Mode::Alone => u32::try_from(len).unwrap_or(u32::MAX),
        };
        let max = shared.config.params().max_fragmented_size;
        if remaining > max {
            return Err(Reason::AnswerTooLarge { len: remaining, max }.into());
        }
        // What has come as a whole goes as a whole, and leaves no state behind.
        if let (State::Framing { .. }, Mode::Single) = (&self.state, mode)
            && len <= room.min(server.len())
        {
            self.invalidate = invalidate;
            return Ok(Progress::Step(Down::Whole(len)));
        }
        self.state = State::Sending { mode, left: len, outgoing: Outgoing { remaining, invalidate } };
        Ok(Progress::Moved)
    }

    /// Looks for the next element, until it has come or bytes are missing.
    #[inline(never)]
    fn look_on(
        &mut self,
        server: &mut &[u8],
        shared: &Shared,
    ) -> Result<Option<(Mode, Option<Front>)>, Box<Reason>> {
        loop {
            match self.look(server, shared)? {
                Progress::Moved => {}
                Progress::Step(element) => return Ok(Some(element)),
                Progress::Blocked => return Ok(None),
            }
        }
    }

    /// Begins a message that has one element only, if all has come that is looked at.
    #[inline]
    fn single(&mut self, server: &mut &[u8]) -> Option<Front> {
        let State::Framing { have: 0, .. } = self.state else { return None };
        let (frame, message) = server.split_first_chunk()?;
        let len = Some(u32::from_be_bytes(*frame)).filter(|len| *len <= MESSAGE_MAX)? as usize;
        let front = message.get(..ANSWER_LEN.min(len))?;
        let header = front.first_chunk().and_then(Front::get).filter(Front::is_last)?;
        *server = message;
        self.incoming.begin(len);
        Some(header)
    }

    /// Goes on to the next element, and finds out how it goes.
    #[inline]
    fn look(
        &mut self,
        server: &mut &[u8],
        shared: &Shared,
    ) -> Result<Progress<(Mode, Option<Front>)>, Box<Reason>> {
        // As long as it is not clear how the elements of a message go, `at` says where that is looked for.
        let (mode, mut at) = match &mut self.state {
            State::Framing { header, have } => {
                let Some(header) = frame(header, have, server) else { return Ok(Progress::Blocked) };
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
            State::Sending { .. } | State::Delivering(_) => return Ok(Progress::Blocked),
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
            return Ok(Progress::Blocked);
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
        Ok(Progress::Step((mode, header)))
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
    fn skip<S>(&mut self, left: usize, server: &mut &[u8]) -> Progress<S> {
        let skipped = self.incoming.take(server, left).len();
        self.state = State::behind(&self.incoming, left.saturating_sub(skipped), Mode::Alone);
        if skipped == 0 { Progress::Blocked } else { Progress::Moved }
    }

    /// An element begins, and as much as has to be looked at is there. It passes, unless it has data that go to the client's memory.
    #[inline]
    fn on_element(
        &mut self,
        mode: Mode,
        header: Option<&Front>,
        server: &mut &[u8],
        shared: &mut Shared,
    ) -> Result<Option<Passing>, Reason> {
        let remaining = self.incoming.remaining();
        let Some(element) = header.and_then(|header| Element::of(*header, remaining).ok()) else {
            let front = self.incoming.front(server, ANSWER_LEN);
            session::count_response(front, header, &mut shared.statistics);
            return Ok(Some(Passing { len: remaining, invalidate: None }));
        };
        let is_interim = element.header.is_interim();
        session::count_answer(&element.header, is_interim, &mut shared.statistics);
        let is_final = element.header.is_response() && !is_interim;
        let request = if is_final { shared.pending.remove(element.header.message_id) } else { None };
        match mode {
            Mode::Together { remaining } if request.is_some() => {
                let max = shared.config.params().held_max;
                return Err(Reason::CompoundTooLong { len: remaining, max });
            }
            Mode::Together { .. } | Mode::Single => {}
            Mode::Alone => self.detach(&element, server, shared)?,
        }
        match request {
            Some(request) => self.answer_of_channel(&element, request, server),
            None => {
                let command = element.header.command;
                if Seen::wants(command) && element.header.is_success() {
                    self.see(command, server, shared);
                }
                Ok(Some(Passing { len: element.len, invalidate: None }))
            }
        }
    }

    /// An answer that is looked at. Out of line: there are few. It takes no reference to the header, which stays in registers.
    #[cold]
    #[inline(never)]
    fn see(&self, command: Command, server: &[u8], shared: &mut Shared) {
        shared.seen.look(command, self.incoming.front(server, ANSWER_LEN));
    }

    /// The final answer to a request with a channel.
    #[inline]
    fn answer_of_channel(
        &mut self,
        element: &Element,
        Request { invalidate, data }: Request,
        server: &[u8],
    ) -> Result<Option<Passing>, Reason> {
        let message_id = element.header.message_id;
        let passing = Passing { len: element.len, invalidate };
        let Data::Read { length, remote } = data else { return Ok(Some(passing)) };
        let held = self.incoming.front(server, ANSWER_LEN.min(element.len));
        let place = answer::place(held, element.header.status, element.len).map_err(Reason::BrokenAnswer)?;
        let Some(Place { gap, len }) = place else { return Ok(Some(passing)) };
        if element.is_signed() {
            return Err(Reason::SignedAnswer { message_id });
        }
        if len > length {
            return Err(Reason::TooMuchData { message_id, len, asked: length });
        }
        answer::moved(held, len, &mut self.answer).map_err(Reason::BrokenAnswer)?;
        let front = ANSWER_LEN.saturating_add(gap);
        let rest = element.len.saturating_sub(front).saturating_sub(len as usize);
        let remote = (len > 0).then_some(remote);
        self.invalidate = invalidate;
        self.state = State::Delivering(Delivery::new(remote, Parts { front, data: len, rest }));
        Ok(None)
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
