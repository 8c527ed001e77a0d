//! The end of a request whose data went by RDMA: first the server's access to its buffers ends, then the data go to the client.

use super::memory::Memory;
use super::step::{Progress, Step, ToClient};
use super::table::Request;
use crate::relay::request::Verb;
use crate::relay::{BufferId, Way};

/// A final answer.
#[derive(Debug)]
pub(super) struct Delivery {
    request: Request,
    /// Bytes of data that came; `None` if the answer passes as it is.
    moved: Option<u32>,
    stage: Stage,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// So many registrations were ordered to end.
    Ending(usize),
    /// The server has no access any more.
    Ended,
    /// The data of so many buffers have gone.
    Leaving(usize),
}

impl Delivery {
    pub(super) const fn new(request: Request, moved: Option<u32>) -> Self {
        Self { request, moved, stage: Stage::Ending(0) }
    }

    const fn way(&self) -> Way {
        match self.request.verb {
            Verb::Read => Way::ToClient,
            Verb::Write => Way::ToServer,
        }
    }

    /// Orders the end of the next registration.
    pub(super) fn end_access<'a>(&mut self, memory: &mut Memory) -> Option<Step<'a>> {
        let Stage::Ending(at) = self.stage else { return None };
        let (way, index) = (self.way(), *self.request.buffers.get(at)?);
        self.stage = Stage::Ending(at.saturating_add(1));
        memory.deregister(way, index);
        Some(Step::Deregister { buffer: BufferId { way, index } })
    }

    /// Whether all of them have ended. Buffers that nobody needs are free from then on.
    pub(super) fn has_ended(&mut self, memory: &mut Memory) -> bool {
        let way = self.way();
        if !matches!(self.stage, Stage::Ending(_)) {
            return true;
        }
        if !memory.are_closed(way, &self.request.buffers) {
            return false;
        }
        for (at, index) in self.request.buffers.iter().enumerate() {
            match self.moved {
                Some(moved) => memory.leave(*index, memory.part(at, moved)),
                None => memory.free(way, *index),
            }
        }
        self.stage = Stage::Ended;
        true
    }

    /// How many bytes came, once.
    pub(super) fn answer(&mut self) -> Option<u32> {
        let moved = self.moved.filter(|_| self.stage == Stage::Ended)?;
        self.stage = Stage::Leaving(0);
        Some(moved)
    }

    /// Whether data came.
    pub(super) const fn is_moved(&self) -> bool {
        self.moved.is_some()
    }

    /// The next bytes of data; `None` if all have gone.
    pub(super) fn data<'a>(&mut self, room: usize, memory: &mut Memory) -> Option<Progress<'a>> {
        let Stage::Leaving(at) = self.stage else { return None };
        let index = *self.request.buffers.get(at)?;
        let moved = self.moved.unwrap_or_default();
        if memory.part(at, moved) == 0 {
            return None;
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let Some((offset, len, is_last)) = memory.give(index, room) else { return Some(Progress::Blocked) };
        if is_last {
            self.stage = Stage::Leaving(at.saturating_add(1));
        }
        let buffer = BufferId { way: Way::ToClient, index };
        Some(Progress::Step(Step::ToClient(ToClient::Buffer { buffer, offset, len })))
    }
}
