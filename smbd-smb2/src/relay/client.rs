//! The client's messages on their way to the server.

use alloc::boxed::Box;
use core::mem::{replace, take};

use super::action::{Action, BufferId, ClientBytes, Idle, Misuse, Source, Way};
use super::config::{Config, MESSAGE_MAX};
use super::element::{Element, Front};
use super::incoming::Incoming;
use super::queue::Queue;
use super::reason::Reason;
use super::request::{FRAMED_HEAD_LEN, FRAMED_LEN, HEAD_LEN, Verb};
use super::rewrite::{self, lower, rewrite};
use super::session;
use super::shared::{Shared, add};
use super::step::{Progress, Up};

/// Bytes of a message that are looked at together: a READ or WRITE with a channel and some descriptors.
const FRONT_LEN: usize = 256;

/// The direction to the server.
#[derive(Debug)]
pub(super) struct Upstream {
    incoming: Incoming,
    state: State,
    queue: Queue,
    /// The message that was rewritten last, with the header of direct TCP (2.1).
    framed: [u8; FRAMED_LEN],
}

/// Where in the client's messages it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between two messages.
    Between,
    /// The front of a message of `len` bytes is kept until it is clear what becomes of it. Its elements before `at` leave that open.
    Deciding { len: u32, at: usize },
    /// A message of `len` bytes goes as it is. `element` bytes of the element are left; at 0 another begins.
    Passing { len: u32, element: usize },
    /// The rest of a message is not needed.
    Skipping,
}

impl Upstream {
    pub(super) fn new(config: &Config) -> Self {
        let queue = Queue::new(config.queue_max(), config.buffers(), config.params().buffer_len);
        Self { incoming: Incoming::new(), state: State::Between, queue, framed: [0; FRAMED_LEN] }
    }

    /// The next step, with what has arrived and `room` bytes that the server takes.
    pub(super) fn step(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Up>, Box<Reason>> {
        self.queue.drop_given();
        if let Some(step) = self.queue.next(room) {
            return Ok(Some(step));
        }
        if let Some(verb) = self.whole(client, shared) {
            let bytes = take(&mut client.bytes);
            add(&mut shared.statistics.bytes.from_client, bytes.len() as u64);
            return self.rewrite_one(verb, bytes, bytes.len(), room, shared);
        }
        self.go_on(client, room, shared)
    }

    /// Which one is to be rewritten, if all of the message has come and there is room for it: such a message is never in a state.
    #[inline]
    fn whole(&self, client: &ClientBytes<'_>, shared: &Shared) -> Option<Verb> {
        let bytes = client.bytes;
        let verb = Verb::of_whole(bytes).filter(|_| self.state == State::Between)?;
        let max = shared.config.held_max().min(MESSAGE_MAX as usize);
        let is_whole = client.remaining == 0 && bytes.len() <= max && self.queue.room() >= FRAMED_LEN;
        let is_alone = Front::get(bytes.first_chunk()?)?.is_last();
        (is_whole && is_alone).then_some(verb)
    }

    /// Rewrites a message of `len` bytes that is a READ or WRITE with a channel. `bytes` has all of it, or its first `held_max` bytes.
    /// There has to be room for it.
    #[inline(always)]
    fn rewrite_one(
        &mut self,
        verb: Verb,
        bytes: &[u8],
        len: usize,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Up>, Box<Reason>> {
        match rewrite::replace(verb, bytes, len, None, &mut self.framed, shared)? {
            Some(order) => {
                let head = self.framed.first_chunk::<FRAMED_HEAD_LEN>().map_or(&[][..], |head| head);
                self.queue.push_write(head, order, &mut shared.pending);
                if self.queue.can_order() {
                    return Ok(Some(Up::Read));
                }
            }
            None if self.queue.is_empty() && room >= FRAMED_LEN => return Ok(Some(Up::Rewritten)),
            None => self.queue.push(&self.framed),
        }
        Ok(self.queue.next(room))
    }

    /// The next step, when nothing that waits can go.
    #[inline(never)]
    fn go_on(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Up>, Box<Reason>> {
        loop {
            match self.advance(client, room, shared)? {
                Progress::Moved => {}
                Progress::Step(step) => return Ok(Some(step)),
                Progress::Blocked => return Ok(None),
            }
            if let Some(step) = self.queue.next(room) {
                return Ok(Some(step));
            }
        }
    }

    /// The action of a step.
    #[inline]
    pub(super) fn action<'r, 'a: 'r>(
        &'r mut self,
        step: Up,
        client: &mut ClientBytes<'a>,
        shared: &mut Shared,
    ) -> Action<'r> {
        let source = match step {
            Up::Queued => Source::Bytes(self.queue.given()),
            Up::Rewritten => Source::Bytes(&self.framed),
            Up::Pass(len) => Source::Bytes(self.pass(len, client)),
            Up::Buffer { index, offset, len } => {
                let buffer = BufferId { way: Way::ToServer, index };
                Source::Buffer { head: self.queue.given(), buffer, offset, len }
            }
            Up::Read => {
                let Some(transfer) = self.queue.order(&mut shared.pending) else {
                    return Action::Idle(Idle::default());
                };
                add(&mut shared.statistics.bytes.rdma_read, transfer.len.into());
                return Action::RdmaRead(transfer);
            }
        };
        Action::ToServer(source)
    }

    /// Bytes of [`Up::Pass`].
    #[inline]
    fn pass<'r, 'a: 'r>(&'r mut self, len: usize, client: &mut ClientBytes<'a>) -> &'r [u8] {
        if let State::Passing { element, .. } = &mut self.state {
            *element = element.saturating_sub(len);
        }
        let taken = self.incoming.take(&mut client.bytes, len);
        self.incoming.bytes(taken)
    }

    /// Whether it waits for bytes of the client, or the end of an operation.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.incoming.is_in_stream() && self.queue.is_blocked()
    }

    pub(super) fn on_read(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        self.queue.on_read(buffer)
    }

    pub(super) fn on_sent(&mut self, buffer: BufferId, len: u32) -> Result<(), Misuse> {
        self.queue.on_sent(buffer, len)
    }

    #[inline]
    fn advance(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        match self.state {
            State::Between => self.begin(client, room, shared),
            State::Deciding { len, at } => self.decide(len, at, client, room, shared),
            State::Passing { element: 0, len } => self.element(len, client, shared),
            State::Passing { element, len } => Ok(self.pass_on(len, element, client, room)),
            State::Skipping => {
                let skipped = self.incoming.take(&mut client.bytes, usize::MAX);
                if self.incoming.remaining() == 0 {
                    self.state = State::Between;
                    return Ok(Progress::Moved);
                }
                Ok(if skipped.len() == 0 { Progress::Blocked } else { Progress::Moved })
            }
        }
    }

    #[inline]
    fn begin(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        if client.bytes.is_empty() {
            return Ok(Progress::Blocked);
        }
        let len = (client.bytes.len() as u64).saturating_add(client.remaining.into());
        let Some(short) = u32::try_from(len).ok().filter(|len| *len <= MESSAGE_MAX) else {
            return Err(Reason::RequestTooLarge { len, max: MESSAGE_MAX }.into());
        };
        add(&mut shared.statistics.bytes.from_client, len);
        self.incoming.begin(short as usize);
        self.state = State::Deciding { len: short, at: 0 };
        self.decide(short, 0, client, room, shared)
    }

    /// Looks at the element at `at`. Out of line, for the loop around it is to be short.
    #[inline(never)]
    fn decide(
        &mut self,
        len: u32,
        at: usize,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        let wanted = if at == 0 { FRONT_LEN } else { at.saturating_add(HEAD_LEN) };
        if wanted > shared.config.held_max() {
            // What is behind cannot be looked at before the first byte leaves.
            return Ok(self.begin_to_pass(len));
        }
        if !self.incoming.has(&mut client.bytes, wanted) {
            return Ok(Progress::Blocked);
        }
        let bytes = self.incoming.front(client.bytes, wanted).get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        let element = Element::read(bytes, left).ok();
        if let Some(element) = &element {
            if let Some(verb) = Verb::with_channel(element, bytes) {
                return if at == 0 && element.is_last {
                    self.rewrite_late(verb, client, room, shared)
                } else {
                    self.rewrite(len, client, shared)
                };
            }
            if !element.is_last {
                self.state = State::Deciding { len, at: at.saturating_add(element.len) };
                return Ok(Progress::Moved);
            }
        }
        // What has been looked at goes in one piece with the header.
        self.incoming.fill(&mut client.bytes, wanted);
        let progress = self.begin_to_pass(len);
        // A server refuses all of a message whose elements cannot be told apart.
        let Some(element) = element else { return Ok(progress) };
        if progress == Progress::Moved && at == 0 {
            return self.on_element(len, Some(&element.header), shared);
        }
        Ok(progress)
    }

    #[inline]
    fn begin_to_pass(&mut self, len: u32) -> Progress<Up> {
        if self.queue.room() < size_of::<u32>() {
            return Progress::Blocked;
        }
        self.queue.push_header(len);
        self.state = State::Passing { len, element: 0 };
        Progress::Moved
    }

    /// [`Self::rewrite_one`], when the message has come in pieces or had to wait.
    #[inline(never)]
    fn rewrite_late(
        &mut self,
        verb: Verb,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        let max = shared.config.held_max();
        if !self.incoming.has(&mut client.bytes, max) || self.queue.room() < FRAMED_LEN {
            return Ok(Progress::Blocked);
        }
        let incoming = replace(&mut self.incoming, Incoming::new());
        let bytes = incoming.front(client.bytes, max);
        let (len, looked_at) = (incoming.remaining(), bytes.len());
        let step = self.rewrite_one(verb, bytes, len, room, shared)?;
        self.incoming = incoming;
        self.pass_by(looked_at, client);
        Ok(step.map_or(Progress::Moved, Progress::Step))
    }

    /// Rewrites a compound, or a part of one that ends the connection.
    fn rewrite(
        &mut self,
        len: u32,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        let max = shared.config.held_max();
        if !self.incoming.has(&mut client.bytes, max) {
            return Ok(Progress::Blocked);
        }
        let front = self.incoming.front(client.bytes, max);
        // Each element can become 8 bytes longer, and has 64 at least.
        let looked_at = front.len();
        if self.queue.room() < looked_at.saturating_add(looked_at >> 3).saturating_add(16) {
            return Ok(Progress::Blocked);
        }
        rewrite(front, self.incoming.remaining(), len, &mut self.queue, shared)?;
        self.pass_by(looked_at, client);
        Ok(Progress::Moved)
    }

    /// A message was rewritten, of which so many bytes were looked at.
    #[inline]
    fn pass_by(&mut self, looked_at: usize, client: &mut ClientBytes<'_>) {
        self.incoming.take(&mut client.bytes, looked_at);
        self.state = if self.incoming.remaining() == 0 { State::Between } else { State::Skipping };
    }

    /// Looks at the next element of a message that goes as it is.
    fn element(
        &mut self,
        len: u32,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        if self.incoming.remaining() == 0 {
            self.state = State::Between;
            return Ok(Progress::Moved);
        }
        if !self.incoming.fill(&mut client.bytes, HEAD_LEN) {
            return Ok(Progress::Blocked);
        }
        let header = Front::read(self.incoming.held()).ok();
        self.on_element(len, header.as_ref(), shared)
    }

    /// An element begins, and as much as has to be looked at is there.
    #[inline]
    fn on_element(
        &mut self,
        len: u32,
        header: Option<&Front>,
        shared: &mut Shared,
    ) -> Result<Progress<Up>, Box<Reason>> {
        let mut left = self.incoming.remaining();
        let held = self.incoming.held_mut();
        session::count(held, header, &mut shared.statistics);
        if let Some(element) = header.and_then(|header| Element::of(*header, left).ok()) {
            left = element.len;
            check(&element, held, len, shared)?;
        }
        self.state = State::Passing { len, element: left };
        Ok(Progress::Moved)
    }

    /// Goes on with an element that goes as it is.
    #[inline]
    fn pass_on(&mut self, len: u32, element: usize, client: &ClientBytes<'_>, room: usize) -> Progress<Up> {
        let held = self.incoming.held();
        if held.is_empty() {
            // The rest waits where it is.
            let max = if self.queue.is_empty() { room.min(element) } else { 0 };
            return match self.incoming.available(client.bytes, max) {
                0 => Progress::Blocked,
                len => Progress::Step(Up::Pass(len)),
            };
        }
        // What arrived with the header can wait in the queue.
        let max = held.len().min(self.queue.room()).min(element);
        if max == 0 {
            return Progress::Blocked;
        }
        let taken = self.incoming.take(&mut &[][..], max);
        self.queue.push(self.incoming.bytes(taken));
        self.state = State::Passing { len, element: element.saturating_sub(max) };
        Progress::Moved
    }
}

/// Refuses an element with a channel in a message that goes as it is, and lowers READs that the client could not receive.
fn check(element: &Element, held: &mut [u8], len: u32, shared: &mut Shared) -> Result<(), Reason> {
    let Some(verb) = Verb::of(element.header.command).filter(|_| element.len >= HEAD_LEN) else {
        return Ok(());
    };
    let (command, message_id) = (element.header.command, element.header.message_id);
    match (Verb::with_channel(element, held), element.is_signed()) {
        (None, true) => Ok(()),
        (None, false) => lower(verb, held, shared).map_err(Reason::BrokenCompound),
        // Forwarded, it would be answered inline and read as 0 bytes.
        (Some(_), true) => Err(Reason::SignedChannel { command, message_id }),
        (Some(_), false) => Err(Reason::CompoundTooLong { len, max: shared.config.params().held_max }),
    }
}
