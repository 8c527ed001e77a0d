//! A READ or WRITE whose data go by RDMA, on its way to the server: its buffers are filled and registered, and then it is sent.

use alloc::vec::Vec;

use smbd_core::Access;

use super::request::Candidate;
use super::shared::Shared;
use super::step::{Progress, Step, ToServer};
use super::table::Request;
use crate::relay::incoming::{Incoming, Taken};
use crate::relay::request::Verb;
use crate::relay::shared::add;
use crate::relay::statistics::SessionKind;
use crate::relay::{BufferId, Placement, Reason};
use crate::wire::Channel;

/// A request that is prepared.
#[derive(Debug)]
pub(super) struct Preparation {
    candidate: Candidate,
    channel: Channel,
    buffers: Vec<u16>,
    /// Bytes before the data of a WRITE that were not skipped.
    gap: usize,
    stage: Stage,
}

/// How far it is.
#[derive(Debug)]
enum Stage {
    /// The buffer at this place gets data, of which it has so many bytes; then zeros.
    Filling { at: usize, filled: u32 },
    /// The buffer at this place is full.
    Registering { at: usize },
    /// All registrations are ordered.
    Waiting,
    /// Goes to the server; so many bytes have.
    Leaving { request: Vec<u8>, given: usize },
}

impl Preparation {
    pub(super) const fn new(candidate: Candidate, channel: Channel, buffers: Vec<u16>) -> Self {
        let gap = candidate.gap;
        Self { candidate, channel, buffers, gap, stage: Stage::Filling { at: 0, filled: 0 } }
    }

    /// Whether all of it has gone.
    pub(super) const fn is_over(&self) -> bool {
        matches!(&self.stage, Stage::Leaving { request, given } if *given >= request.len())
    }

    /// Bytes of the request.
    pub(super) fn request(&self, start: usize, end: usize) -> &[u8] {
        let Stage::Leaving { request, .. } = &self.stage else { return &[] };
        request.get(start..end).unwrap_or_default()
    }

    /// Goes on. `incoming` is behind the fixed part of the request.
    pub(super) fn step<'a>(
        &mut self,
        incoming: &mut Incoming,
        client: &mut &'a [u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Progress<'a>, Reason> {
        if self.gap > 0 {
            let skipped = incoming.take(client, self.gap).len();
            self.gap = self.gap.saturating_sub(skipped);
            return Ok(if skipped == 0 { Progress::Blocked } else { Progress::Moved });
        }
        match &mut self.stage {
            Stage::Filling { at, filled } => {
                let (at, filled) = (*at, *filled);
                Ok(self.fill(at, filled, incoming, client, shared))
            }
            Stage::Registering { at } => {
                let at = *at;
                Ok(self.register(at, shared))
            }
            Stage::Waiting => self.complete(shared),
            Stage::Leaving { request, given } => {
                let (start, end) = (*given, given.saturating_add(room).min(request.len()));
                if start == end {
                    return Ok(Progress::Blocked);
                }
                *given = end;
                let remaining = u32::try_from(request.len().saturating_sub(end)).unwrap_or_default();
                add(&mut shared.statistics.bytes.from_client, end.saturating_sub(start) as u64);
                Ok(Progress::Step(Step::ToServer { bytes: ToServer::Request { start, end }, remaining }))
            }
        }
    }

    /// The name of the buffer at a place.
    fn buffer(&self, at: usize) -> Option<BufferId> {
        let index = *self.buffers.get(at)?;
        Some(BufferId { way: self.candidate.way(), index })
    }

    /// Bytes of the client that the buffer at this place still needs.
    fn missing(&self, at: usize, filled: u32, shared: &Shared) -> u32 {
        match self.candidate.verb {
            Verb::Read => 0,
            Verb::Write => shared.memory.part(at, self.candidate.len).saturating_sub(filled),
        }
    }

    /// Data first, and zeros behind them: nothing that was in a buffer before is seen by the server, or goes to the client.
    fn fill<'a>(
        &mut self,
        at: usize,
        filled: u32,
        incoming: &mut Incoming,
        client: &mut &'a [u8],
        shared: &Shared,
    ) -> Progress<'a> {
        let Some(buffer) = self.buffer(at) else {
            self.stage = Stage::Waiting;
            return Progress::Moved;
        };
        let missing = self.missing(at, filled, shared);
        if missing == 0 {
            self.stage = Stage::Registering { at };
            let len = shared.memory.buffer_len().saturating_sub(filled);
            if len == 0 {
                return Progress::Moved;
            }
            return Progress::Step(Step::Zero { buffer, offset: filled, len });
        }
        let taken = incoming.take(client, missing as usize);
        let len = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        let bytes = match taken {
            Taken::Held(0) | Taken::Stream([]) => return Progress::Blocked,
            Taken::Held(len) => ToServer::Held(len),
            Taken::Stream(bytes) => ToServer::Stream(bytes),
        };
        self.stage = Stage::Filling { at, filled: filled.saturating_add(len) };
        Progress::Step(Step::Store { buffer, offset: filled, bytes })
    }

    fn register<'a>(&mut self, at: usize, shared: &mut Shared) -> Progress<'a> {
        let Some(buffer) = self.buffer(at) else { return Progress::Blocked };
        self.stage = Stage::Filling { at: at.saturating_add(1), filled: 0 };
        shared.memory.register(buffer.way, buffer.index);
        // Exactly what is needed: the server cannot read what it is to write.
        let access = match self.candidate.verb {
            Verb::Read => Access::Write,
            Verb::Write => Access::Read,
        };
        Progress::Step(Step::Register { buffer, access })
    }

    /// Makes the request, once all buffers are registered.
    fn complete<'a>(&mut self, shared: &mut Shared) -> Result<Progress<'a>, Reason> {
        let Candidate { verb, message_id, session_id, len, .. } = self.candidate;
        let way = self.candidate.way();
        let Some(descriptors) = shared.memory.descriptors(way, &self.buffers, len) else {
            return Ok(Progress::Blocked);
        };
        let request =
            self.candidate.with_channel(self.channel, &descriptors).map_err(Reason::BrokenCompound)?;
        let buffers = core::mem::take(&mut self.buffers);
        shared.table.insert(message_id, Request { verb, len, buffers })?;
        shared.statistics.sessions.count(session_id, SessionKind::Rdma);
        if verb == Verb::Write {
            add(&mut shared.statistics.bytes.rdma_read, len.into());
        }
        self.stage = Stage::Leaving { request, given: 0 };
        Ok(Progress::Moved)
    }

    /// Where the next bytes of the stream can be put at once.
    pub(super) fn placement(&self, shared: &Shared) -> Option<Placement> {
        let Stage::Filling { at, filled } = self.stage else { return None };
        let buffer = self.buffer(at).filter(|_| self.gap == 0)?;
        let len = self.missing(at, filled, shared);
        let is_last = at.saturating_add(1) >= self.buffers.len();
        (len > 0).then_some(Placement { buffer, offset: filled, len, is_last })
    }

    /// Bytes were put there. Whether they can have been.
    pub(super) fn on_placed(
        &mut self,
        incoming: &mut Incoming,
        id: BufferId,
        len: u32,
        shared: &Shared,
    ) -> bool {
        let Some(place) = self.placement(shared) else { return false };
        let Stage::Filling { at, filled } = self.stage else { return false };
        if place.buffer != id || len > place.len {
            return false;
        }
        incoming.pass_by(len as usize);
        self.stage = Stage::Filling { at, filled: filled.saturating_add(len) };
        true
    }
}
