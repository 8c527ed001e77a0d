//! The client's messages on their way to the server.

use super::action::{BufferId, ClientBytes, Misuse};
use super::config::{Config, MESSAGE_MAX};
use super::element::{Element, Front};
use super::incoming::{Incoming, Taken};
use super::queue::Queue;
use super::reason::Reason;
use super::request::{HEAD_LEN, Verb};
use super::rewrite::{lower, rewrite};
use super::session;
use super::shared::{Shared, add};
use super::step::{Progress, Step, ToServer};
use crate::wire::Channel;

/// Bytes of a message that are looked at together: a READ or WRITE with a channel and some descriptors.
const FRONT_LEN: usize = 256;

/// The direction to the server.
#[derive(Debug)]
pub(super) struct Upstream {
    incoming: Incoming,
    state: State,
    queue: Queue,
}

/// Where in the client's messages it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between two messages.
    Between,
    /// The front of a message of `len` bytes is kept until it is clear what becomes of it. Its elements before `at` leave that open.
    Deciding { len: u32, at: usize },
    /// A message has a READ or WRITE with a channel: all of it is kept, and rewritten.
    Collecting { len: u32 },
    /// A message of `len` bytes goes as it is. `element` bytes of the element are left; at 0 another begins.
    Passing { len: u32, element: usize },
    /// The rest of a message is not needed.
    Skipping,
}

impl Upstream {
    pub(super) fn new(config: &Config) -> Self {
        let queue = Queue::new(config.queue_max(), config.buffers(), config.params().buffer_len);
        Self { incoming: Incoming::new(), state: State::Between, queue }
    }

    /// The next step, with what has arrived and `room` bytes that the server takes.
    pub(super) fn step<'a>(
        &mut self,
        client: &mut ClientBytes<'a>,
        room: usize,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Result<(), Reason> {
        self.queue.drop_given();
        loop {
            if let Some(transfer) = self.queue.order(&mut shared.pending) {
                add(&mut shared.statistics.bytes.rdma_read, transfer.len.into());
                *out = Some(Step::RdmaRead(transfer));
                return Ok(());
            }
            if let Some(next) = self.queue.next(room) {
                *out = Some(Step::ToServer(ToServer::Queue(next)));
                return Ok(());
            }
            if self.advance(client, room, shared, out)? != Progress::Moved {
                return Ok(());
            }
        }
    }

    /// Bytes of [`ToServer::Queue`].
    pub(super) fn given(&self) -> &[u8] {
        self.queue.given()
    }

    /// Whether it waits for bytes of the client only.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.incoming.is_in_stream() && self.queue.is_empty()
    }

    pub(super) fn on_read(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        self.queue.on_read(buffer)
    }

    pub(super) fn on_sent(&mut self, buffer: BufferId, len: u32) -> Result<(), Misuse> {
        self.queue.on_sent(buffer, len)
    }

    #[inline]
    fn advance<'a>(
        &mut self,
        client: &mut ClientBytes<'a>,
        room: usize,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Result<Progress, Reason> {
        match self.state {
            State::Between => self.begin(client, shared),
            State::Deciding { len, at } => self.decide(len, at, client, shared),
            State::Collecting { len } => self.rewrite(len, None, client, shared),
            State::Passing { element: 0, len } => self.element(len, client, shared),
            State::Passing { element, len } => Ok(self.pass(len, element, client, room, out)),
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
    fn begin(&mut self, client: &mut ClientBytes<'_>, shared: &mut Shared) -> Result<Progress, Reason> {
        if client.bytes.is_empty() {
            return Ok(Progress::Blocked);
        }
        let len = (client.bytes.len() as u64).saturating_add(client.remaining.into());
        let Some(short) = u32::try_from(len).ok().filter(|len| *len <= MESSAGE_MAX) else {
            return Err(Reason::RequestTooLarge { len, max: MESSAGE_MAX });
        };
        add(&mut shared.statistics.bytes.from_client, len);
        self.incoming.begin(short as usize);
        self.state = State::Deciding { len: short, at: 0 };
        self.decide(short, 0, client, shared)
    }

    /// Looks at the element at `at`.
    #[inline]
    fn decide(
        &mut self,
        len: u32,
        at: usize,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
        let wanted = if at == 0 { FRONT_LEN } else { at.saturating_add(HEAD_LEN) };
        if wanted > shared.config.held_max() {
            // What is behind cannot be looked at before the first byte leaves.
            return Ok(self.begin_to_pass(len));
        }
        if !self.incoming.fill(&mut client.bytes, wanted) {
            return Ok(Progress::Blocked);
        }
        let bytes = self.incoming.held().get(at..).unwrap_or_default();
        let left = self.incoming.remaining().saturating_sub(at);
        // A server refuses all of a message whose elements cannot be told apart.
        let Ok(element) = Element::read(bytes, left) else { return Ok(self.begin_to_pass(len)) };
        let verb = Verb::of(element.header.command).filter(|_| element.len >= HEAD_LEN);
        if verb.is_some_and(|verb| verb.channel(bytes) != Channel::NONE) {
            self.state = State::Collecting { len };
            return self.rewrite(len, Some(element).filter(|_| at == 0), client, shared);
        }
        if !element.is_last {
            self.state = State::Deciding { len, at: at.saturating_add(element.len) };
            return Ok(Progress::Moved);
        }
        let progress = self.begin_to_pass(len);
        if progress == Progress::Moved && at == 0 {
            return self.on_element(len, Some(&element.header), shared);
        }
        Ok(progress)
    }

    #[inline]
    fn begin_to_pass(&mut self, len: u32) -> Progress {
        if self.queue.room() < size_of::<u32>() {
            return Progress::Blocked;
        }
        self.queue.push_header(len);
        self.state = State::Passing { len, element: 0 };
        Progress::Moved
    }

    #[inline]
    fn rewrite(
        &mut self,
        len: u32,
        first: Option<Element>,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
        if !self.incoming.fill(&mut client.bytes, shared.config.held_max()) {
            return Ok(Progress::Blocked);
        }
        // Each element can become 8 bytes longer, and has 64 at least.
        let held = self.incoming.held().len();
        if self.queue.room() < held.saturating_add(held >> 3).saturating_add(16) {
            return Ok(Progress::Blocked);
        }
        let remaining = self.incoming.remaining();
        let held = self.incoming.held_mut();
        let first = match first {
            Some(first) => first,
            None => Element::read(held, remaining).map_err(Reason::BrokenCompound)?,
        };
        rewrite(first, held, remaining, len, &mut self.queue, shared)?;
        self.incoming.drop_held();
        self.state = if self.incoming.remaining() == 0 { State::Between } else { State::Skipping };
        Ok(Progress::Moved)
    }

    /// Looks at the next element of a message that goes as it is.
    fn element(
        &mut self,
        len: u32,
        client: &mut ClientBytes<'_>,
        shared: &mut Shared,
    ) -> Result<Progress, Reason> {
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
    ) -> Result<Progress, Reason> {
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

    #[inline]
    fn pass<'a>(
        &mut self,
        len: u32,
        element: usize,
        client: &mut ClientBytes<'a>,
        room: usize,
        out: &mut Option<Step<'a>>,
    ) -> Progress {
        let is_empty = self.queue.is_empty();
        let held = self.incoming.held().len();
        // What arrived with the header can wait in the queue; the rest waits where it is.
        let max = if held > 0 {
            self.queue.room()
        } else if is_empty {
            room
        } else {
            0
        };
        let taken = self.incoming.take(&mut client.bytes, max.min(element));
        self.state = State::Passing { len, element: element.saturating_sub(taken.len()) };
        match taken {
            Taken::Held(0) | Taken::Stream([]) => Progress::Blocked,
            Taken::Held(len) => {
                self.queue.push(self.incoming.taken(len));
                Progress::Moved
            }
            Taken::Stream(bytes) => {
                *out = Some(Step::ToServer(ToServer::Stream(bytes)));
                Progress::Stepped
            }
        }
    }
}

/// Refuses an element with a channel in a message that goes as it is, and lowers READs that the client could not receive.
fn check(element: &Element, held: &mut [u8], len: u32, shared: &mut Shared) -> Result<(), Reason> {
    let Some(verb) = Verb::of(element.header.command).filter(|_| element.len >= HEAD_LEN) else {
        return Ok(());
    };
    let (command, message_id) = (element.header.command, element.header.message_id);
    match (verb.channel(held), element.is_signed()) {
        (Channel::NONE, true) => Ok(()),
        (Channel::NONE, false) => lower(verb, held, shared).map_err(Reason::BrokenCompound),
        // Forwarded, it would be answered inline and read as 0 bytes.
        (_, true) => Err(Reason::SignedChannel { command, message_id }),
        (_, false) => Err(Reason::CompoundTooLong { len, max: shared.config.params().held_max }),
    }
}
