//! The client's messages on their way to the server.

use alloc::boxed::Box;

use super::action::{BufferId, ClientBytes, Misuse, Transfer};
use super::config::{Config, MESSAGE_MAX};
use super::element::{Element, Front};
use super::incoming::Incoming;
use super::queue::Queue;
use super::reason::Reason;
use super::request::{FRAME_LEN, FRAMED_LEN, HEAD_LEN, Verb};
use super::rewrite::{Replaced, lower, rewrite, rewrite_one};
use super::session;
use super::shared::{Shared, add};
use super::step::{Progress, Step};

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
    ) -> Result<Step, Box<Reason>> {
        self.queue.drop_given();
        if let Some(step) = self.queue.next(room) {
            return Ok(step);
        }
        self.go_on(client, room, shared)
    }

    /// The next step, when nothing that waits can go.
    #[inline(never)]
    fn go_on(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Step, Box<Reason>> {
        loop {
            if let Progress::Step(step) = self.advance(client, room, shared)? {
                return Ok(step);
            }
            if let Some(step) = self.queue.next(room) {
                return Ok(step);
            }
        }
    }

    /// [`Step::Read`].
    #[inline]
    pub(super) fn read(&mut self, shared: &mut Shared) -> Option<Transfer> {
        let transfer = self.queue.order(&mut shared.pending)?;
        add(&mut shared.statistics.bytes.rdma_read, transfer.len.into());
        Some(transfer)
    }

    /// Bytes of [`Step::Pass`].
    #[inline]
    pub(super) fn pass<'r, 'a: 'r>(&'r mut self, len: usize, client: &mut ClientBytes<'a>) -> &'r [u8] {
        if let State::Passing { element, .. } = &mut self.state {
            *element = element.saturating_sub(len);
        }
        let taken = self.incoming.take(&mut client.bytes, len);
        self.incoming.bytes(taken)
    }

    /// Bytes of [`Step::Queued`].
    #[inline]
    pub(super) fn given(&self) -> &[u8] {
        self.queue.given()
    }

    /// Bytes of [`Step::Rewritten`].
    #[inline]
    pub(super) fn rewritten(&self, len: u8) -> &[u8] {
        self.framed.get(..len.into()).unwrap_or_default()
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
    ) -> Result<Progress, Box<Reason>> {
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
                Ok(if skipped.len() == 0 { Progress::BLOCKED } else { Progress::Moved })
            }
        }
    }

    #[inline]
    fn begin(
        &mut self,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress, Box<Reason>> {
        if client.bytes.is_empty() {
            return Ok(Progress::BLOCKED);
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
    ) -> Result<Progress, Box<Reason>> {
        let wanted = if at == 0 { FRONT_LEN } else { at.saturating_add(HEAD_LEN) };
        if wanted > shared.config.held_max() {
            // What is behind cannot be looked at before the first byte leaves.
            return Ok(self.begin_to_pass(len));
        }
        if !self.incoming.has(&mut client.bytes, wanted) {
            return Ok(Progress::BLOCKED);
        }
        let bytes = self.incoming.front(client.bytes, wanted).get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        let element = Element::read(bytes, left).ok();
        if let Some(element) = &element {
            if let Some(verb) = Verb::with_channel(element, bytes) {
                return if at == 0 && element.is_last {
                    self.rewrite_one(element, verb, client, room, shared)
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
    fn begin_to_pass(&mut self, len: u32) -> Progress {
        if self.queue.room() < size_of::<u32>() {
            return Progress::BLOCKED;
        }
        self.queue.push_header(len);
        self.state = State::Passing { len, element: 0 };
        Progress::Moved
    }

    /// Rewrites a message that is a READ or WRITE with a channel.
    #[inline]
    fn rewrite_one(
        &mut self,
        only: &Element,
        verb: Verb,
        client: &mut ClientBytes<'_>,
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress, Box<Reason>> {
        let max = shared.config.held_max();
        if !self.incoming.has(&mut client.bytes, max) || self.queue.room() < FRAMED_LEN {
            return Ok(Progress::BLOCKED);
        }
        let bytes = self.incoming.front(client.bytes, max);
        let Replaced { front, order } = rewrite_one(only, verb, bytes, &mut self.framed, shared)?;
        let looked_at = bytes.len();
        self.pass_by(looked_at, client);
        let len = FRAME_LEN.saturating_add(front);
        let framed = self.framed.get(..len).unwrap_or_default();
        match order {
            Some(order) => self.queue.push_write(framed, order, &mut shared.pending),
            None if self.queue.is_empty() && room >= len => {
                return Ok(Progress::Step(Step::Rewritten(len as u8)));
            }
            None => self.queue.push(framed),
        }
        Ok(Progress::Moved)
    }

    /// Rewrites a compound, or a part of one that ends the connection.
    fn rewrite(
        &mut self,
        len: u32,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress, Box<Reason>> {
        let max = shared.config.held_max();
        if !self.incoming.has(&mut client.bytes, max) {
            return Ok(Progress::BLOCKED);
        }
        let front = self.incoming.front(client.bytes, max);
        // Each element can become 8 bytes longer, and has 64 at least.
        let looked_at = front.len();
        if self.queue.room() < looked_at.saturating_add(looked_at >> 3).saturating_add(16) {
            return Ok(Progress::BLOCKED);
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
    ) -> Result<Progress, Box<Reason>> {
        if self.incoming.remaining() == 0 {
            self.state = State::Between;
            return Ok(Progress::Moved);
        }
        if !self.incoming.fill(&mut client.bytes, HEAD_LEN) {
            return Ok(Progress::BLOCKED);
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
    ) -> Result<Progress, Box<Reason>> {
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
    fn pass_on(&mut self, len: u32, element: usize, client: &ClientBytes<'_>, room: usize) -> Progress {
        let held = self.incoming.held();
        if held.is_empty() {
            // The rest waits where it is.
            let max = if self.queue.is_empty() { room.min(element) } else { 0 };
            return Progress::Step(match self.incoming.available(client.bytes, max) {
                0 => Step::Blocked,
                len => Step::Pass(len),
            });
        }
        // What arrived with the header can wait in the queue.
        let max = held.len().min(self.queue.room()).min(element);
        if max == 0 {
            return Progress::BLOCKED;
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
