//! The client's stream on its way to the server.

use alloc::boxed::Box;

use super::prepare::Preparation;
use super::request::Candidate;
use super::shared::Shared;
use super::step::{Progress, Step, ToServer};
use crate::relay::config::MESSAGE_MAX;
use crate::relay::element::{Element, Front};
use crate::relay::incoming::{Incoming, Taken};
use crate::relay::position::frame;
use crate::relay::request::{HEAD_LEN, Verb, lower_read};
use crate::relay::session;
use crate::relay::shared::add;
use crate::relay::{BufferId, Misuse, Placement, Reason};
use crate::wire::Channel;
use crate::wire::header::PROTOCOL_ID;

/// The direction to the server.
#[derive(Debug)]
pub(super) struct Upstream {
    incoming: Incoming,
    state: State,
}

/// Where in the client's stream it is.
#[derive(Debug)]
enum State {
    /// In the header of direct TCP (2.1).
    Framing { header: [u8; 4], have: usize },
    /// The front of a message of `len` bytes is kept until it is clear what becomes of it.
    Deciding { len: u32 },
    /// Data go by RDMA.
    Preparing(Box<Preparation>),
    /// A message of `len` bytes goes as it is. `element` bytes of the element are left; at 0 another begins.
    Passing { len: u32, element: usize },
    /// The rest of a message is not needed.
    Skipping,
}

impl State {
    const FRAMING: Self = Self::Framing { header: [0; 4], have: 0 };
}

impl Upstream {
    pub(super) const fn new() -> Self {
        Self { incoming: Incoming::new(), state: State::FRAMING }
    }

    /// The next step, with what has arrived and `room` bytes that the server takes.
    pub(super) fn step<'a>(
        &mut self,
        client: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Step<'a>>, Reason> {
        loop {
            match self.advance(client, room, shared)? {
                Progress::Moved => {}
                Progress::Blocked => return Ok(None),
                Progress::Step(step) => return Ok(Some(step)),
            }
        }
    }

    /// Bytes of [`ToServer::Held`].
    pub(super) fn taken(&self, len: usize) -> &[u8] {
        self.incoming.taken(len)
    }

    /// Bytes of [`ToServer::Request`].
    pub(super) fn request(&self, start: usize, end: usize) -> &[u8] {
        let State::Preparing(preparation) = &self.state else { return &[] };
        preparation.request(start, end)
    }

    /// Where the next bytes of the stream can be put at once.
    pub(super) fn placement(&self, shared: &Shared) -> Option<Placement> {
        let State::Preparing(preparation) = &self.state else { return None };
        preparation.placement(shared)
    }

    /// Bytes were put there.
    pub(super) fn on_placed(&mut self, buffer: BufferId, len: u32, shared: &Shared) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Placed", buffer };
        let State::Preparing(preparation) = &mut self.state else { return Err(misuse) };
        let is_possible = preparation.on_placed(&mut self.incoming, buffer, len, shared);
        if is_possible { Ok(()) } else { Err(misuse) }
    }

    fn advance<'a>(
        &mut self,
        client: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        match &mut self.state {
            State::Framing { header, have } => {
                let Some(header) = frame(header, have, client) else { return Ok(Progress::Blocked) };
                self.begin(header)
            }
            State::Deciding { len } => {
                let len = *len;
                self.decide(len, client, shared)
            }
            State::Preparing(preparation) => {
                if !preparation.is_over() {
                    return preparation.step(&mut self.incoming, client, room, shared);
                }
                self.state = State::Skipping;
                Ok(Progress::Moved)
            }
            State::Passing { element: 0, len } => {
                let len = *len;
                self.element(len, client, shared)
            }
            State::Passing { element, len } => {
                let (len, element) = (*len, *element);
                Ok(self.pass(len, element, client, room, shared))
            }
            State::Skipping => {
                let skipped = self.incoming.take(client, usize::MAX);
                if self.incoming.remaining() == 0 {
                    self.state = State::FRAMING;
                    return Ok(Progress::Moved);
                }
                Ok(if skipped.len() == 0 { Progress::Blocked } else { Progress::Moved })
            }
        }
    }

    fn begin<'a>(&mut self, header: u32) -> Result<Progress<'a>, Reason> {
        // 2.1: the first byte is 0. A message of 0 bytes cannot be sent to the server.
        if header == 0 || header > MESSAGE_MAX {
            return Err(Reason::ClientFraming { header });
        }
        self.incoming.begin(header as usize);
        self.state = State::Deciding { len: header };
        Ok(Progress::Moved)
    }

    /// Looks at the front of a message.
    fn decide<'a>(
        &mut self,
        len: u32,
        client: &mut &'a [u8],
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        if !self.incoming.fill(client, HEAD_LEN) {
            return Ok(Progress::Blocked);
        }
        let max = shared.config.params().max_fragmented_send_size;
        let candidate = Candidate::read(self.incoming.held(), len as usize);
        let count = candidate.and_then(|candidate| shared.config.buffers_for(candidate.len));
        if let (Some(candidate), Some(channel), Some(count)) = (candidate, shared.channel(), count) {
            if let Some(buffers) = shared.memory.take(candidate.way(), count) {
                let front = Front::read(self.incoming.held()).ok();
                session::count(self.incoming.held(), front.as_ref(), &mut shared.statistics);
                // The fixed part is in the candidate.
                self.incoming.take(client, HEAD_LEN);
                self.state = State::Preparing(Box::new(Preparation::new(candidate, channel, buffers)));
                return Ok(Progress::Moved);
            }
            // A server that answers one request only behind another one must not wait for the other's buffer. So only what
            // cannot go without waits: for WRITEs, which have all that they need.
            if len > max {
                return Ok(Progress::Blocked);
            }
        }
        if len > max {
            return Err(Reason::AboveMaxFragmentedSize { len, max });
        }
        self.state = State::Passing { len, element: 0 };
        Ok(Progress::Moved)
    }

    /// Looks at the next element of a message that goes as it is.
    fn element<'a>(
        &mut self,
        len: u32,
        client: &mut &'a [u8],
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        let remaining = self.incoming.remaining();
        if remaining == 0 {
            self.state = State::FRAMING;
            return Ok(Progress::Moved);
        }
        if !self.incoming.fill(client, HEAD_LEN) {
            return Ok(Progress::Blocked);
        }
        let held = self.incoming.held_mut();
        let mut left = remaining;
        let front = Front::read(held).ok();
        session::count(held, front.as_ref(), &mut shared.statistics);
        match Element::read(held, remaining) {
            Ok(element) => {
                left = element.len;
                check(&element, held, shared)?;
            }
            // A server that reads it otherwise may see a channel.
            Err(error) if remaining < len as usize || held.starts_with(&PROTOCOL_ID) => {
                return Err(Reason::BrokenMessage(error));
            }
            // Encrypted, compressed, or of another protocol.
            Err(_) => {}
        }
        self.state = State::Passing { len, element: left };
        Ok(Progress::Moved)
    }

    fn pass<'a>(
        &mut self,
        len: u32,
        element: usize,
        client: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Progress<'a> {
        let taken = self.incoming.take(client, room.min(element));
        self.state = State::Passing { len, element: element.saturating_sub(taken.len()) };
        add(&mut shared.statistics.bytes.from_client, taken.len() as u64);
        let bytes = match taken {
            Taken::Held(0) | Taken::Stream([]) => return Progress::Blocked,
            Taken::Held(len) => ToServer::Held(len),
            Taken::Stream(bytes) => ToServer::Stream(bytes),
        };
        let remaining = u32::try_from(self.incoming.remaining()).unwrap_or(u32::MAX);
        Progress::Step(Step::ToServer { bytes, remaining })
    }
}

/// Refuses an element with a channel, and lowers READs whose answer could not be received.
fn check(element: &Element, held: &mut [u8], shared: &mut Shared) -> Result<(), Reason> {
    let Some(verb) = Verb::of(element.header.command).filter(|_| element.len >= HEAD_LEN) else {
        return Ok(());
    };
    if verb.channel(held) != Channel::NONE {
        let (command, message_id) = (element.header.command, element.header.message_id);
        return Err(Reason::ChannelOverTcp { command, message_id });
    }
    let max = shared.config.params().max_fragmented_recv_size;
    if verb == Verb::Read && !element.is_signed() && lower_read(held, max).map_err(Reason::BrokenCompound)? {
        add(&mut shared.statistics.lowered_reads, 1);
    }
    Ok(())
}
