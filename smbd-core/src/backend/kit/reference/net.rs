//! The network between the ends, and the posted work.

use alloc::collections::VecDeque;
use alloc::rc::{Rc, Weak};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;

use super::{Reference, ReferenceBuffer, range};
use crate::backend::kit::Situation;
use crate::backend::{TransportReports, WorkQueues};
use crate::error::{ConnectReason, DisconnectReason, WorkError};
use crate::{
    Access, Budget, BufferDescriptorV1, Head, Input, Instant, Limits, RdmaId, RdmaVerb, RecvId, RegId,
    SendId, Token, WrId,
};

/// How long a connect attempt goes unanswered.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(50);
/// Where registered memory begins in the peer's numbering.
pub(super) const BASE: u64 = 0x1000;

#[derive(Debug)]
pub(super) struct Net {
    pub(super) options: Reference,
    pub(super) situation: Situation,
    pub(super) limits: Limits,
    pub(super) now: Instant,
    pub(super) ends: [EndState; 4],
    pub(super) next_token: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Idle,
    Waiting(Instant),
    Up,
    /// Over, as far as this end is concerned.
    Down,
}

#[derive(Debug)]
pub(super) struct EndState {
    pub(super) link: Link,
    pub(super) news: TransportReports,
    pub(super) queues: WorkQueues,
    /// Chained, in the order of the queues.
    pub(super) chain: Vec<Work>,
    pub(super) receives: VecDeque<(RecvId, u32)>,
    pub(super) sends: VecDeque<Work>,
    /// Reads that are as good as done, but for their data.
    late_reads: Vec<LateRead>,
    /// Receive buffers by slot.
    pub(super) slab: Vec<Vec<u8>>,
    pub(super) reports: VecDeque<Report>,
    pub(super) reported: Vec<BufferDescriptorV1>,
    pub(super) regions: Vec<Region>,
    pub(super) refuse_after: Option<usize>,
    /// To be told of the connection after the first message.
    pub(super) late: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Report {
    Input(Input<'static>),
    Registered { id: RegId, segment: BufferDescriptorV1, bind_complete: bool },
}

#[derive(Debug)]
pub(super) enum Work {
    Recv(RecvId, u32),
    Send { id: SendId, message: Body, invalidate: Option<Token>, signal: bool },
    Rdma { id: RdmaId, verb: RdmaVerb, local: Memory, offset: u32, remote: BufferDescriptorV1, signal: bool },
    Bind(RegId, Token),
    Invalidate(RegId, Token),
}

impl Work {
    const fn id(&self) -> WrId {
        match self {
            Self::Recv(id, _) => WrId::Recv(*id),
            Self::Send { id, .. } => WrId::Send(*id),
            Self::Rdma { id, .. } => WrId::Rdma(*id),
            Self::Bind(id, _) | Self::Invalidate(id, _) => WrId::Reg(*id),
        }
    }
}

/// Where the data go, and where they are.
type LateRead = (Memory, u32, BufferDescriptorV1);

#[derive(Debug)]
pub(super) struct Body {
    pub(super) head: Head,
    pub(super) copied: Vec<u8>,
    pub(super) in_place: Option<(Memory, u32, u32)>,
}

#[derive(Debug)]
pub(super) struct Region {
    pub(super) id: RegId,
    pub(super) token: Token,
    pub(super) access: Access,
    pub(super) memory: Memory,
    pub(super) live: bool,
}

/// Memory in use.
#[derive(Debug)]
pub(super) enum Memory {
    Kept(ReferenceBuffer),
    Forgotten(Weak<[Cell<u8>]>),
}

impl Memory {
    pub(super) fn get(&self) -> Option<ReferenceBuffer> {
        match self {
            Self::Kept(buffer) => Some(Rc::clone(buffer)),
            Self::Forgotten(buffer) => buffer.upgrade(),
        }
    }
}

const fn peer(end: usize) -> usize {
    end ^ 1
}

impl Net {
    pub(super) fn new(situation: Situation, budget: &Budget, limits: Limits, options: Reference) -> Self {
        let slots = usize::try_from(budget.recv_slots).unwrap_or(0);
        let end = |index: usize| EndState {
            link: Link::Idle,
            news: TransportReports::default(),
            queues: WorkQueues::new(budget),
            chain: Vec::new(),
            receives: VecDeque::new(),
            sends: VecDeque::new(),
            late_reads: Vec::new(),
            slab: vec![Vec::new(); slots],
            reports: VecDeque::new(),
            reported: Vec::new(),
            regions: Vec::new(),
            refuse_after: None,
            late: situation == Situation::LateConnected && index == 1,
        };
        let ends = core::array::from_fn(end);
        Self { options, situation, limits, now: Instant::ORIGIN, ends, next_token: 0x100 }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        for index in 0..self.ends.len() {
            self.pass_link(index);
        }
        for index in 0..self.ends.len() {
            self.carry_out(index);
        }
    }

    fn pass_link(&mut self, index: usize) {
        let there = self.ends.get(peer(index)).map(|end| end.link);
        let Some(end) = self.ends.get_mut(index) else { return };
        let Link::Waiting(since) = end.link else { return };
        let timed_out = self.now.saturating_since(since) >= CONNECT_TIMEOUT;
        let failure = match self.situation {
            Situation::Refused => Some(ConnectReason::Refused),
            Situation::Unreachable => Some(ConnectReason::Unreachable),
            Situation::Silent => timed_out.then_some(ConnectReason::TimedOut),
            // The peer did not want it, or no longer does.
            Situation::Connects | Situation::TwoConnections | Situation::LateConnected => {
                (there == Some(Link::Down)).then_some(ConnectReason::Refused)
            }
        };
        if let Some(reason) = failure {
            end.link = Link::Down;
            end.news.connect_failed(reason);
        } else if matches!(there, Some(Link::Waiting(_) | Link::Up)) && self.situation != Situation::Silent {
            end.link = Link::Up;
            if !end.late {
                end.news.connected(self.limits);
            }
        }
    }

    /// Carries out the next request of an end, if there is one that can be.
    fn carry_out(&mut self, index: usize) {
        let (limits, late_reads) = (self.limits, self.options.late_reads);
        let Some([here, there]) = self.pair(index) else { return };
        // Both are up, or none.
        if here.link != Link::Up {
            return;
        }
        let Some(work) = here.sends.pop_front() else { return self.finish_late_reads(index) };
        let (id, signal, result) = match work {
            Work::Recv(..) => return,
            Work::Send { id, message, invalidate, signal } => {
                (id.into(), signal, send(there, &message, invalidate, limits))
            }
            Work::Rdma { verb: RdmaVerb::Read, local, offset, remote, signal: false, .. } if late_reads => {
                return here.late_reads.push((local, offset, remote));
            }
            Work::Rdma { id, verb, local, offset, remote, signal } => {
                let (id, local) = (WrId::from(id), local.get());
                (id, signal, self.rdma(index, verb, local.as_ref(), offset, remote))
            }
            Work::Bind(id, token) => {
                here.set_live(token, true);
                (WrId::Reg(id), true, Ok(()))
            }
            Work::Invalidate(id, token) => {
                here.set_live(token, false);
                here.regions.retain(|region| region.id != id);
                (WrId::Reg(id), true, Ok(()))
            }
        };
        let Some([here, there]) = self.pair(index) else { return };
        if signal || result.is_err() {
            // The queues know every request that was posted.
            let _ = here.queues.complete(id, result);
        }
        if result.is_err() {
            // Both queue pairs are in error.
            here.break_down(DisconnectReason::DeviceFailed);
            there.break_down(DisconnectReason::DeviceFailed);
        }
    }

    fn finish_late_reads(&mut self, index: usize) {
        let reads = self.ends.get_mut(index).map(|end| core::mem::take(&mut end.late_reads));
        for (local, offset, remote) in reads.unwrap_or_default() {
            // Too late for a result.
            let _ = self.rdma(index, RdmaVerb::Read, local.get().as_ref(), offset, remote);
        }
    }

    fn rdma(
        &self,
        index: usize,
        verb: RdmaVerb,
        local: Option<&ReferenceBuffer>,
        offset: u32,
        remote: BufferDescriptorV1,
    ) -> Result<(), WorkError> {
        let len = u64::from(remote.length);
        let near =
            local.and_then(|local| range(local, offset.into(), len)).ok_or(WorkError::LocalProtection)?;
        let owners = match self.options.separate_domains {
            true => self.ends.get(peer(index)..=peer(index)),
            false => Some(&self.ends[..]),
        };
        let mut regions = owners.unwrap_or_default().iter().flat_map(|owner| &owner.regions);
        let region = regions.find(|region| {
            let allowed = match verb {
                RdmaVerb::Read => region.access.reads(),
                RdmaVerb::Write => region.access.writes(),
            };
            region.token == remote.token && region.live && allowed
        });
        let memory = region.and_then(|region| region.memory.get()).ok_or(WorkError::RemoteAccess)?;
        let start = remote.offset.checked_sub(BASE).ok_or(WorkError::RemoteAccess)?;
        let far = range(&memory, start, len).ok_or(WorkError::RemoteAccess)?;
        let (from, to) = match verb {
            RdmaVerb::Read => (far, near),
            RdmaVerb::Write => (near, far),
        };
        for (from, to) in from.iter().zip(to) {
            to.set(from.get());
        }
        Ok(())
    }

    fn pair(&mut self, index: usize) -> Option<[&mut EndState; 2]> {
        self.ends.get_disjoint_mut([index, peer(index)]).ok()
    }

    pub(super) fn disconnect(&mut self, index: usize) {
        let Some([here, there]) = self.pair(index) else { return };
        here.regions.clear();
        // Every request that was not carried out completes as flushed, signalled or not.
        let receives = here.receives.drain(..).map(|(id, _)| WrId::Recv(id));
        for id in receives.chain(here.sends.drain(..).map(|work| work.id())) {
            let _ = here.queues.complete(id, Err(WorkError::Flushed));
        }
        here.queues.drained();
        here.lose(DisconnectReason::Local);
        there.break_down(DisconnectReason::PeerClosed);
    }
}

impl EndState {
    fn lose(&mut self, reason: DisconnectReason) {
        self.link = Link::Down;
        self.news.disconnected(reason);
    }

    fn break_down(&mut self, reason: DisconnectReason) {
        if self.link == Link::Up {
            self.lose(reason);
        }
    }

    fn set_live(&mut self, token: Token, live: bool) {
        for region in self.regions.iter_mut().filter(|region| region.token == token) {
            region.live = live;
        }
    }
}

/// Puts a message into the first receive of `there`.
fn send(
    there: &mut EndState,
    message: &Body,
    invalidate: Option<Token>,
    limits: Limits,
) -> Result<(), WorkError> {
    let mut bytes = message.head.as_bytes().to_vec();
    bytes.extend_from_slice(&message.copied);
    if let Some((memory, offset, len)) = &message.in_place {
        let memory = memory.get().ok_or(WorkError::LocalProtection)?;
        let cells = range(&memory, (*offset).into(), (*len).into()).ok_or(WorkError::LocalProtection)?;
        bytes.extend(cells.iter().map(Cell::get));
    }
    let (id, room) = there.receives.pop_front().ok_or(WorkError::ReceiverNotReady)?;
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    if len > room {
        let _ = there.queues.complete(id.into(), Err(WorkError::LocalLength));
        return Err(WorkError::RemoteInvalidRequest);
    }
    if let Some(token) = invalidate {
        let live = there.regions.iter().any(|region| region.token == token && region.live);
        if !live || !limits.send_with_invalidate {
            let _ = there.queues.complete(id.into(), Err(WorkError::RemoteInvalidRequest));
            return Err(WorkError::RemoteOperation);
        }
        there.set_live(token, false);
    }
    let head = Head::of(&bytes);
    if let Some(slot) = there.slab.get_mut(usize::from(id.slot())) {
        *slot = bytes;
    }
    let _ = there.queues.received(id);
    there.reports.push_back(Report::Input(Input::Received { id, head, len, invalidated: invalidate }));
    if core::mem::take(&mut there.late) {
        there.news.connected(limits);
    }
    Ok(())
}
