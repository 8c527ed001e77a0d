//! The device of a searched connection: queues of posted work. The search decides when work completes.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, RecvId, RegId, SendId, Token, WrId};

use crate::search::wire::Payload;

const BUFFER: u64 = 0x1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Takes receives only.
    Idle,
    Ready,
    /// All that is posted is flushed.
    Down,
}

/// A work request on the send queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) kind: Kind,
    pub(super) signal: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Send(SendId),
    Write(smbd_core::RdmaId),
    Read { id: smbd_core::RdmaId, answered: bool },
    Bind(RegId),
    Invalidate(RegId),
}

impl Kind {
    pub(super) fn id(self) -> WrId {
        match self {
            Self::Send(id) => id.into(),
            Self::Write(id) | Self::Read { id, .. } => id.into(),
            Self::Bind(id) | Self::Invalidate(id) => id.into(),
        }
    }

    /// Without the name.
    const fn anonymous(self) -> u8 {
        match self {
            Self::Send(_) => 0,
            Self::Write(_) => 1,
            Self::Read { answered: false, .. } => 2,
            Self::Read { answered: true, .. } => 3,
            Self::Bind(_) => 4,
            Self::Invalidate(_) => 5,
        }
    }
}

/// What the host has to be told of a registration, apart from the send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Notice {
    Registered,
    Deregistered,
    /// The device was down already.
    Refused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) id: RegId,
    pub(super) descriptor: BufferDescriptorV1,
    access: Access,
    /// The peer may use it.
    live: bool,
    /// The host knows of it.
    pub(super) told: bool,
    /// No work request of it is on the send queue.
    pub(super) bound: bool,
    /// The peer has used all of it.
    pub(super) used: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) state: State,
    pub(super) recvs: VecDeque<(RecvId, u32)>,
    pub(super) sends: VecDeque<Work>,
    /// Fragments in receive buffers that the connection has not told of.
    pub(super) landed: VecDeque<(RecvId, Payload)>,
    pub(super) regions: Vec<Region>,
    pub(super) notices: VecDeque<(RegId, Notice)>,
    next_token: u32,
}

impl Device {
    pub(super) fn new(first_token: u32) -> Self {
        Self {
            state: State::Idle,
            recvs: VecDeque::new(),
            sends: VecDeque::new(),
            landed: VecDeque::new(),
            regions: Vec::new(),
            notices: VecDeque::new(),
            next_token: first_token,
        }
    }

    /// How many work requests the next completion retires: it vouches for those before it that asked for none.
    pub(super) fn completable(&self) -> Option<usize> {
        if self.state != State::Ready {
            return None;
        }
        let ready = |work: &&Work| !matches!(work.kind, Kind::Read { answered: false, .. });
        let upto = self.sends.iter().take_while(ready).position(|work| work.signal)?;
        Some(upto + 1)
    }

    /// An RDMA Read is answered: the oldest that is not.
    pub(super) fn answer(&mut self) -> bool {
        for work in &mut self.sends {
            if let Kind::Read { answered: answered @ false, .. } = &mut work.kind {
                *answered = true;
                return true;
            }
        }
        false
    }

    /// Memory of `len` bytes that the peer may use from the moment it is told.
    pub(super) fn open(&mut self, id: RegId, access: Access, len: u32, bound: bool) {
        let descriptor = BufferDescriptorV1 { offset: BUFFER, token: Token(self.next_token), length: len };
        self.next_token += 1;
        self.regions.push(Region { id, descriptor, access, live: true, told: false, bound, used: false });
    }

    pub(super) fn region(&mut self, id: RegId) -> Option<&mut Region> {
        self.regions.iter_mut().find(|region| region.id == id)
    }

    /// Ends all access.
    pub(super) fn close(&mut self, id: RegId) {
        if let Some(region) = self.region(id) {
            region.live = false;
        }
    }

    /// The host is told that it is over.
    pub(super) fn forget(&mut self, id: RegId) {
        self.regions.retain(|region| region.id != id);
    }

    /// The peer invalidates a token. Whether it was valid.
    pub(super) fn invalidate(&mut self, token: Token) -> bool {
        let region = self.regions.iter_mut().find(|region| region.descriptor.token == token && region.live);
        region.map(|region| region.live = false).is_some()
    }

    /// The peer uses a buffer. Whether it may.
    pub(super) fn access(&mut self, verb: RdmaVerb, part: BufferDescriptorV1) -> bool {
        let allowed = self.regions.iter_mut().find(|Region { descriptor: whole, access, live, .. }| {
            let right = match verb {
                RdmaVerb::Read => access.reads(),
                RdmaVerb::Write => access.writes(),
            };
            let end = |d: BufferDescriptorV1| d.offset.saturating_add(u64::from(d.length));
            let inside = whole.offset <= part.offset && end(part) <= end(*whole);
            *live && right && inside && whole.token == part.token
        });
        allowed.map(|region| region.used |= region.descriptor == part).is_some()
    }

    /// Whether the peer has written or read what it was told of.
    pub(super) fn is_used(&self) -> bool {
        self.regions.iter().all(|region| region.used)
    }

    /// All that can matter, without names.
    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        (self.state, self.recvs.len(), self.next_token).hash(into);
        for (_, len) in &self.recvs {
            len.hash(into);
        }
        self.sends.len().hash(into);
        for work in &self.sends {
            (work.kind.anonymous(), work.signal).hash(into);
        }
        self.landed.len().hash(into);
        for (_, payload) in &self.landed {
            payload.hash(into);
        }
        self.regions.len().hash(into);
        for r in &self.regions {
            (r.descriptor, r.access, r.live, r.told, r.bound, r.used).hash(into);
        }
        self.notices.len().hash(into);
        for (id, notice) in &self.notices {
            (self.regions.iter().position(|r| r.id == *id), notice).hash(into);
        }
    }
}
