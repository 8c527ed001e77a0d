//! One connection of the script over any backend, without the protocol core: ids of work, buffers, and inputs. It has
//! no rule of the protocol; [`Peer`](crate::suite::Peer) has what the script does by itself.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use smbd_core::backend::{BackendOp, BufferSlice, HostMemory, Payload};
use smbd_core::{Head, Input, Instant, RdmaId, RecvId, RegId, Segment, SendId, WrId};

use super::{Full, News, Opening, Order};

/// Names of one kind: slots with generations, as backends expect them.
#[derive(Debug)]
struct Names {
    kind: u64,
    free: VecDeque<u16>,
    generation: u32,
}

impl Names {
    fn new(kind: u64, slots: u16) -> Self {
        Self { kind, free: (0..slots).collect(), generation: 0 }
    }

    fn take(&mut self) -> Option<WrId> {
        let slot = self.free.pop_front()?;
        self.generation = self.generation.wrapping_add(1);
        WrId::from_raw(self.kind << 56 | u64::from(self.generation) << 16 | u64::from(slot))
    }

    fn give_back(&mut self, slot: u16) {
        self.free.push_back(slot);
    }
}

#[derive(Debug)]
struct Memory<M> {
    buffer: M,
    len: u32,
    registration: Option<(RegId, Vec<smbd_core::BufferDescriptorV1>)>,
}

/// The script's work on one connection. `M` is the backend's buffer.
#[derive(Debug)]
pub struct Line<M> {
    recvs: Names,
    sends: Names,
    rdmas: Names,
    regs: Names,
    memory: Vec<Memory<M>>,
    /// Registrations that the device has not bound yet, and whether they are to be deregistered then: not before.
    unbound: BTreeMap<RegId, bool>,
    /// Tickets of what is under way.
    under_way: BTreeMap<WrId, u64>,
    next_ticket: u64,
    news: VecDeque<(Instant, News)>,
    over: bool,
}

/// Sends and RDMA requests that the script has under way at most. Its send queue has to hold as many.
pub const SENDS_MAX: u16 = 1024;
/// As [`SENDS_MAX`], of RDMA requests.
pub const RDMA_MAX: u16 = 64;
/// Registrations at the same time.
pub const REGISTRATIONS_MAX: u16 = 64;

impl<M: Clone + fmt::Debug> Line<M> {
    /// A connection with nothing posted.
    #[must_use]
    pub fn new(opening: &Opening) -> Self {
        Self {
            recvs: Names::new(1, opening.receives),
            sends: Names::new(2, SENDS_MAX),
            rdmas: Names::new(3, RDMA_MAX),
            regs: Names::new(4, REGISTRATIONS_MAX),
            memory: Vec::new(),
            unbound: BTreeMap::new(),
            under_way: BTreeMap::new(),
            next_ticket: 0,
            news: VecDeque::new(),
            over: false,
        }
    }

    /// Whether the end was reported.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// The next thing that was noticed.
    pub fn news(&mut self) -> Option<(Instant, News)> {
        self.news.pop_front()
    }

    /// Whether there is something that was noticed.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Takes in what the backend has to say.
    pub fn poll<B: HostMemory<Buffer = M>>(&mut self, backend: &mut B) {
        let now = backend.now();
        while let Some(input) = backend.next_input() {
            let news = match input {
                Input::Connected { limits } => News::Connected(limits),
                Input::ConnectFailed { reason } => {
                    self.over = true;
                    News::ConnectFailed(reason)
                }
                Input::Disconnected { .. } => {
                    self.over = true;
                    News::Disconnected
                }
                Input::Received { id, invalidated, .. } => {
                    let bytes = backend.received(id).to_vec();
                    self.under_way.remove(&id.into());
                    self.recvs.give_back(id.slot());
                    News::Message(bytes, invalidated)
                }
                Input::Sent { id } => self.done(id.into(), Ok(())),
                Input::RdmaDone { id } => self.done(id.into(), Ok(())),
                Input::Registered { id, segments, bind_complete } => {
                    if !bind_complete {
                        self.unbound.insert(id, false);
                    }
                    let segments = segments.to_vec();
                    if let Some((_, known)) = self.registration(id) {
                        known.clone_from(&segments);
                    }
                    News::Registered(self.under_way.remove(&id.into()).unwrap_or(u64::MAX), segments)
                }
                Input::Deregistered { id } => {
                    self.forget(id);
                    self.done(id.into(), Ok(()))
                }
                Input::Failed { id, error } => {
                    if let WrId::Reg(id) = id {
                        self.unbound.remove(&id);
                        self.forget(id);
                    }
                    self.done(id, Err(error))
                }
                Input::BindComplete { id } => {
                    if self.unbound.remove(&id) == Some(true) {
                        self.deregister(backend, id);
                    }
                    continue;
                }
                Input::Timeout => continue,
            };
            self.news.push_back((now, news));
        }
    }

    /// Has the backend do something.
    ///
    /// # Errors
    /// No room.
    pub fn order<B: HostMemory<Buffer = M>>(
        &mut self,
        backend: &mut B,
        order: Order<'_>,
    ) -> Result<u64, Full> {
        let ticket = self.next_ticket;
        match order {
            Order::Connect => backend.execute(BackendOp::Connect),
            Order::Accept => backend.execute(BackendOp::Accept),
            Order::Disconnect => backend.execute(BackendOp::Disconnect),
            Order::Receive(len) => {
                let id = self.recv_id(ticket)?;
                backend.execute(BackendOp::PostRecv { id, len });
            }
            Order::Send(bytes, invalidate) => {
                let id = self.send_id(ticket)?;
                let (head, rest) = (Head::of(bytes), bytes.get(Head::MAX..).unwrap_or_default());
                let body = (!rest.is_empty()).then_some(Payload::Copy(rest));
                let (signal, solicit) = (true, false);
                backend.execute(BackendOp::PostSend { id, head: &head, body, invalidate, signal, solicit });
            }
            Order::Register(buffer, access) => {
                let id = self.reg_id(ticket)?;
                let memory = self.memory.get_mut(buffer).ok_or(Full("no such buffer"))?;
                memory.registration = Some((id, Vec::new()));
                let segments_max = REGISTRATIONS_MAX;
                backend.execute(BackendOp::Register { id, buffer: &memory.buffer, access, segments_max });
            }
            Order::Deregister(buffer) => {
                let memory = self.memory.get(buffer).ok_or(Full("no such buffer"))?;
                let (id, _) = memory.registration.as_ref().ok_or(Full("the buffer is not registered"))?;
                let id = *id;
                self.under_way.insert(id.into(), ticket);
                match self.unbound.get_mut(&id) {
                    Some(unwanted) => *unwanted = true,
                    None => self.deregister(backend, id),
                }
            }
            Order::Rdma(verb, buffer, offset, remote) => {
                let id = self.rdma_id(ticket)?;
                let memory = self.memory.get(buffer).ok_or(Full("no such buffer"))?;
                let local = BufferSlice { buffer: &memory.buffer, offset, len: remote.length };
                backend.execute(BackendOp::PostRdma { id, verb, local, remote, signal: true });
            }
        }
        backend.ring_doorbell();
        self.next_ticket += 1;
        Ok(ticket)
    }

    /// A buffer that holds `bytes`.
    ///
    /// # Errors
    /// No memory.
    pub fn allocate<B: HostMemory<Buffer = M>>(
        &mut self,
        backend: &mut B,
        bytes: &[u8],
    ) -> Result<usize, Full> {
        let len = u32::try_from(bytes.len()).map_err(|_| Full("a buffer of more than 4 GiB"))?;
        let buffer = backend.allocate(len.max(1)).map_err(|_| Full("no memory"))?;
        backend.fill(&buffer, 0, bytes).map_err(|_| Full("the buffer is too short"))?;
        self.memory.push(Memory { buffer, len, registration: None });
        Ok(self.memory.len() - 1)
    }

    /// What a buffer holds.
    pub fn contents<B: HostMemory<Buffer = M>>(&self, backend: &B, buffer: usize) -> Vec<u8> {
        let Some(memory) = self.memory.get(buffer) else { return Vec::new() };
        let mut bytes = vec![0; memory.len as usize];
        match backend.read(&memory.buffer, 0, &mut bytes) {
            Ok(()) => bytes,
            Err(_) => Vec::new(),
        }
    }

    /// Writes a buffer from its beginning.
    pub fn fill<B: HostMemory<Buffer = M>>(&self, backend: &mut B, buffer: usize, bytes: &[u8]) {
        if let Some(memory) = self.memory.get(buffer) {
            let filled = backend.fill(&memory.buffer, 0, bytes);
            debug_assert_eq!(filled, Ok(()), "the script knows its own buffers");
        }
    }

    fn done(&mut self, id: WrId, result: Result<(), smbd_core::error::WorkError>) -> News {
        match id {
            WrId::Recv(id) => self.recvs.give_back(id.slot()),
            WrId::Send(id) => self.sends.give_back(id.slot()),
            WrId::Rdma(id) => self.rdmas.give_back(id.slot()),
            WrId::Reg(_) => {}
        }
        News::Done(self.under_way.remove(&id).unwrap_or(u64::MAX), result)
    }

    fn deregister<B: HostMemory<Buffer = M>>(&mut self, backend: &mut B, id: RegId) {
        let Some((_, known)) = self.registration(id) else { return };
        let segments: Vec<_> = known.iter().map(|known| Segment::of(*known, true)).collect();
        backend.execute(BackendOp::Deregister { id, segments: &segments });
        backend.ring_doorbell();
    }

    fn registration(&mut self, id: RegId) -> Option<(RegId, &mut Vec<smbd_core::BufferDescriptorV1>)> {
        let mut all = self.memory.iter_mut().filter_map(|memory| memory.registration.as_mut());
        all.find(|(known, _)| *known == id).map(|(id, segments)| (*id, segments))
    }

    fn forget(&mut self, id: RegId) {
        for memory in &mut self.memory {
            if memory.registration.as_ref().is_some_and(|(known, _)| *known == id) {
                memory.registration = None;
                self.regs.give_back(id.slot());
            }
        }
    }

    fn recv_id(&mut self, ticket: u64) -> Result<RecvId, Full> {
        match self.recvs.take() {
            Some(WrId::Recv(id)) => Ok(self.note(id, ticket)),
            _ => Err(Full("receives: ask for more with `Opening::receives`")),
        }
    }

    fn send_id(&mut self, ticket: u64) -> Result<SendId, Full> {
        match self.sends.take() {
            Some(WrId::Send(id)) => Ok(self.note(id, ticket)),
            _ => Err(Full("sends under way")),
        }
    }

    fn rdma_id(&mut self, ticket: u64) -> Result<RdmaId, Full> {
        match self.rdmas.take() {
            Some(WrId::Rdma(id)) => Ok(self.note(id, ticket)),
            _ => Err(Full("RDMA requests under way")),
        }
    }

    fn reg_id(&mut self, ticket: u64) -> Result<RegId, Full> {
        match self.regs.take() {
            Some(WrId::Reg(id)) => Ok(self.note(id, ticket)),
            _ => Err(Full("registrations")),
        }
    }

    fn note<I: Copy + Into<WrId>>(&mut self, id: I, ticket: u64) -> I {
        self.under_way.insert(id.into(), ticket);
        id
    }
}
