use crate::table::Ring;
use crate::{Config, Event, Fragment, MsgId, RecvId, Token};

/// An event that has happened and was not polled yet, as small as can be: what is bigger stays in the slot it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    Established,
    Data { index: u16, offset: u32, len: u32, remaining: u32, first: bool },
    Invalidated { index: u16, token: Token },
    Sent { msg: MsgId, ok: bool },
    OpDone { index: u16 },
    Registered { index: u16 },
    Deregistered { index: u16 },
    Probed,
}

impl Pending {
    /// The same without names of slots, which say nothing about behaviour.
    pub(crate) const fn anonymous(mut self) -> Self {
        match &mut self {
            Self::Data { index, .. }
            | Self::Invalidated { index, .. }
            | Self::OpDone { index }
            | Self::Registered { index }
            | Self::Deregistered { index } => *index = 0,
            Self::Sent { msg, .. } => *msg = MsgId(0),
            Self::Established | Self::Probed => {}
        }
        self
    }
}

/// A fragment that has arrived, with the full name of its receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) recv: RecvId,
    pub(crate) offset: u32,
    pub(crate) len: u32,
    pub(crate) remaining: u32,
    pub(crate) first: bool,
}

impl Arrived {
    pub(crate) const fn event(self) -> Event {
        let Self { recv, offset, len, remaining, first } = self;
        Event::Data(Fragment { recv, offset, len, remaining, first })
    }

    const fn pending(self) -> Pending {
        let Self { recv, offset, len, remaining, first } = self;
        Pending::Data { index: recv.slot(), offset, len, remaining, first }
    }
}

/// Events in the order they happened.
#[derive(Clone, Debug)]
pub(crate) struct PendingEvents {
    /// A fragment before which nothing waited when it came. What comes later is behind it.
    arrived: Option<Arrived>,
    queue: Ring<Pending>,
}

impl PendingEvents {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { arrived: None, queue: Ring::new(capacity, Pending::Probed) }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.arrived.is_none() && self.queue.is_empty()
    }

    /// Appends an event; false if there is no room.
    #[must_use]
    pub(crate) fn push(&mut self, event: Pending) -> bool {
        self.queue.push(event)
    }

    /// Appends a fragment; false if there is no room.
    #[must_use]
    pub(crate) fn push_fragment(&mut self, fragment: Arrived) -> bool {
        if self.is_empty() {
            self.arrived = Some(fragment);
            return true;
        }
        self.queue.push(fragment.pending())
    }

    /// Takes the fragment that is before all that is in the queue.
    pub(crate) const fn take_fragment(&mut self) -> Option<Arrived> {
        // Whoever finds none does nothing: `Option::take` would move what is not there.
        let Some(fragment) = self.arrived else { return None };
        self.arrived = None;
        Some(fragment)
    }

    /// What is first in the queue, before which no fragment is left.
    pub(crate) fn front(&self) -> Option<&Pending> {
        self.queue.front()
    }

    pub(crate) fn pop(&mut self) -> Option<Pending> {
        match self.arrived.take() {
            Some(fragment) => Some(fragment.pending()),
            None => self.queue.pop(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len().wrapping_add(usize::from(self.arrived.is_some()))
    }

    /// From front to back.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Pending> {
        self.arrived.map(Arrived::pending).into_iter().chain(self.queue.iter().copied())
    }
}

/// Room for every event that can happen before the next drain: events are handed out before any new work is, so there
/// is at most one for each piece of work, each command and each segment.
pub(crate) fn capacity(config: &Config) -> usize {
    let recv = [config.receive_credit_max, 1, config.borrowed_max];
    let work = [config.send_slots, config.rdma_ops, config.registrations, config.segments_max];
    // The connection's own: Established and Probed.
    recv.into_iter().chain(work).map(usize::from).fold(2, usize::saturating_add)
}
