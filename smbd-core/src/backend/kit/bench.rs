//! The tools of lines: ids of their own, a log for each end, and waiting.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::seen::Seen;
use super::{Capabilities, Finding, Fixture, Lab, Peer, Situation, config};
use crate::backend::{Backend, BackendOp, BufferSlice, HostMemory, Payload, ReceiveMemory};
use crate::id::Slot;
use crate::{
    Access, Budget, BufferDescriptorV1, Head, Instant, Limits, RdmaId, RdmaVerb, RecvId, RegId, Role,
    Segment, SendId, Token, WrId,
};

/// Time that passes between two looks.
const TURN: Duration = Duration::from_millis(1);
/// Least time in which something that must not happen would have happened; a two-hundredth of the patience, if longer.
const QUIET: Duration = Duration::from_millis(20);

pub(super) struct Bench<F: Fixture> {
    fixture: F,
    pub(super) budget: Budget,
    patience: Duration,
    logs: [Log; 4],
    /// An end that nobody looks at for a while.
    unheeded: Option<Peer>,
}

#[derive(Clone, Debug, Default)]
struct Log {
    seen: Vec<Seen>,
    posted: Vec<WrId>,
    /// Next use of each kind of slot: receives, sends, RDMA requests, registrations.
    next: [u32; 4],
}

/// What a message is made of.
pub(super) struct Message<'a, M> {
    pub(super) head: &'a [u8],
    pub(super) body: Option<Payload<'a, M>>,
    pub(super) invalidate: Option<Token>,
    pub(super) signal: bool,
}

impl<'a, M> Message<'a, M> {
    pub(super) const fn head(head: &'a [u8]) -> Self {
        Self { head, body: None, invalidate: None, signal: true }
    }
}

pub(super) fn broken<T>(what: impl Into<String>) -> Result<T, Finding> {
    Err(Finding::Broken(what.into()))
}

pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Finding> {
    if holds { Ok(()) } else { broken(what()) }
}

pub(super) const fn needs(capability: bool, what: &'static str) -> Result<(), Finding> {
    if capability { Ok(()) } else { Err(Finding::NotApplicable(what)) }
}

impl<F: Fixture> Bench<F> {
    pub(super) fn new<L: Lab<Fixture = F>>(lab: &mut L, situation: Situation) -> Result<Self, Finding> {
        let (config, Capabilities { patience, .. }) = (config()?, lab.capabilities());
        let fixture = lab.fixture(situation, &config);
        let fixture =
            fixture.map_err(|why| Finding::Broken(format!("no fixture for {situation:?}: {why}")))?;
        let logs = core::array::from_fn(|_| Log::default());
        Ok(Self { fixture, budget: config.budget(), patience, logs, unheeded: None })
    }

    /// A bench whose first connection is up, with one receive posted at each end.
    pub(super) fn connected<L: Lab<Fixture = F>>(lab: &mut L) -> Result<Self, Finding> {
        let mut bench = Self::new(lab, Situation::Connects)?;
        bench.connect(0)?;
        Ok(bench)
    }

    /// Connects and waits for both ends to know.
    pub(super) fn connect(&mut self, connection: usize) -> Result<(), Finding> {
        let ends = [Role::Acceptor, Role::Initiator].map(|role| Peer { role, connection });
        for end in ends {
            self.post_recv(end, 512);
            self.begin(end);
        }
        for end in ends {
            self.wait(end, "Connected", |seen| matches!(seen, Seen::Connected(_)))?;
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, end: Peer) {
        self.execute(
            end,
            match end.role {
                Role::Initiator => BackendOp::Connect,
                Role::Acceptor => BackendOp::Accept,
            },
        );
        self.ring_doorbell(end);
    }

    pub(super) fn refuse_after(&mut self, end: Peer, accepted: usize) {
        self.fixture.refuse_after(end, accepted);
    }

    /// Leaves what happens at `end` unseen until further notice.
    pub(super) const fn ignore(&mut self, end: Option<Peer>) {
        self.unheeded = end;
    }

    pub(super) fn execute(&mut self, end: Peer, step: BackendOp<'_, F::Buffer>) {
        self.fixture.backend(end).execute(step);
    }

    pub(super) fn ring_doorbell(&mut self, end: Peer) {
        self.fixture.backend(end).ring_doorbell();
    }

    pub(super) fn now(&mut self, end: Peer) -> Instant {
        self.fixture.backend(end).now()
    }

    pub(super) fn post_recv(&mut self, end: Peer, len: u32) -> RecvId {
        let id = RecvId(self.mint(end, 0, self.budget.recv_slots));
        self.note(end, id);
        self.execute(end, BackendOp::PostRecv { id, len });
        id
    }

    pub(super) fn send(&mut self, end: Peer, message: Message<'_, F::Buffer>) -> SendId {
        let id = SendId(self.mint(end, 1, self.budget.send_slots));
        self.note(end, id);
        let Message { head, body, invalidate, signal } = message;
        let head = &Head::of(head);
        self.execute(end, BackendOp::PostSend { id, head, body, invalidate, signal, solicit: false });
        id
    }

    pub(super) fn rdma(
        &mut self,
        end: Peer,
        verb: RdmaVerb,
        buffer: &F::Buffer,
        offset: u32,
        remote: BufferDescriptorV1,
    ) -> RdmaId {
        self.rdma_with(end, verb, (buffer, offset), remote, true)
    }

    /// The same, signalled or not.
    pub(super) fn rdma_with(
        &mut self,
        end: Peer,
        verb: RdmaVerb,
        (buffer, offset): (&F::Buffer, u32),
        remote: BufferDescriptorV1,
        signal: bool,
    ) -> RdmaId {
        let id = RdmaId(self.mint(end, 2, self.budget.rdma_slots));
        self.note(end, id);
        let local = BufferSlice { buffer, offset, len: remote.length };
        self.execute(end, BackendOp::PostRdma { id, verb, local, remote, signal });
        id
    }

    /// Registers a buffer and waits until it is valid.
    pub(super) fn register(
        &mut self,
        end: Peer,
        buffer: &F::Buffer,
        access: Access,
    ) -> Result<(RegId, Vec<BufferDescriptorV1>), Finding> {
        let id = RegId(self.mint(end, 3, self.budget.registrations));
        let segments_max = u16::try_from(self.budget.registrations).unwrap_or(1);
        self.execute(end, BackendOp::Register { id, buffer, access, segments_max });
        self.ring_doorbell(end);
        let registered = |seen: &Seen| matches!(seen, Seen::Registered { id: other, .. } if *other == id);
        self.wait(end, "Registered", registered)?;
        let found = self.seen(end).iter().find(|seen| registered(seen)).cloned();
        let Some(Seen::Registered { segments, bind_complete, .. }) = found else {
            return broken("no Registered");
        };
        ensure(!segments.is_empty() && segments.len() <= usize::from(segments_max), || {
            format!("{} segments, 1 to {segments_max} allowed", segments.len())
        })?;
        if !bind_complete {
            self.wait(end, "BindComplete", |seen| *seen == Seen::BindComplete(id))?;
        }
        Ok((id, segments))
    }

    /// Deregisters and waits for it; `dead` was invalidated by the peer.
    pub(super) fn deregister(
        &mut self,
        end: Peer,
        id: RegId,
        segments: &[BufferDescriptorV1],
        dead: Option<Token>,
    ) -> Result<(), Finding> {
        self.begin_deregistering(end, id, segments, dead);
        self.wait(end, "Deregistered", |seen| *seen == Seen::Deregistered(id))
    }

    pub(super) fn begin_deregistering(
        &mut self,
        end: Peer,
        id: RegId,
        segments: &[BufferDescriptorV1],
        dead: Option<Token>,
    ) {
        let segment = |known: &BufferDescriptorV1| Segment::of(*known, Some(known.token) != dead);
        let segments: Vec<_> = segments.iter().map(segment).collect();
        self.execute(end, BackendOp::Deregister { id, segments: &segments });
        self.ring_doorbell(end);
    }

    pub(super) fn allocate(&mut self, end: Peer, bytes: &[u8]) -> Result<F::Buffer, Finding> {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut backend = self.fixture.backend(end);
        let buffer = backend.allocate(len).map_err(|error| Finding::Broken(format!("{error}")))?;
        backend.fill(&buffer, 0, bytes).map_err(|error| Finding::Broken(format!("{error}")))?;
        Ok(buffer)
    }

    pub(super) fn contents(&mut self, end: Peer, buffer: &F::Buffer, len: usize) -> Result<Vec<u8>, Finding> {
        let mut bytes = vec![0; len];
        let read = self.fixture.backend(end).read(buffer, 0, &mut bytes);
        read.map_err(|error| Finding::Broken(format!("{error}")))?;
        Ok(bytes)
    }

    pub(super) fn received(&mut self, end: Peer, id: RecvId) -> Vec<u8> {
        self.fixture.backend(end).received(id).to_vec()
    }

    pub(super) fn seen(&self, end: Peer) -> &[Seen] {
        self.logs.get(end.index()).map_or(&[], |log| &log.seen)
    }

    /// The work that was posted as number `index` at `end`.
    pub(super) fn posted(&self, end: Peer, index: usize) -> Result<WrId, Finding> {
        let posted = self.logs.get(end.index()).and_then(|log| log.posted.get(index));
        posted.copied().ok_or_else(|| Finding::Broken("nothing was posted".into()))
    }

    /// How `work` ended: every input about it.
    pub(super) fn ends(&self, end: Peer, work: impl Into<WrId>) -> Vec<Seen> {
        let work = work.into();
        self.seen(end).iter().filter(|seen| seen.work() == Some(work)).cloned().collect()
    }

    pub(super) fn count(&self, end: Peer, what: impl Fn(&Seen) -> bool) -> usize {
        self.seen(end).iter().filter(|seen| what(seen)).count()
    }

    pub(super) fn limits(&self, end: Peer) -> Result<Limits, Finding> {
        let connected = |seen: &Seen| if let Seen::Connected(limits) = seen { Some(*limits) } else { None };
        let limits = self.seen(end).iter().find_map(connected);
        limits.ok_or_else(|| Finding::Broken("no Connected".into()))
    }

    /// Place of the first such input in the order seen.
    pub(super) fn place(&self, end: Peer, what: impl Fn(&Seen) -> bool) -> Option<usize> {
        self.seen(end).iter().position(what)
    }

    /// Lets things happen until `end` has seen `what`.
    pub(super) fn wait(
        &mut self,
        end: Peer,
        what: &str,
        found: impl Fn(&Seen) -> bool,
    ) -> Result<(), Finding> {
        self.wait_until(|bench| bench.count(end, &found) > 0, || format!("{what} at {end:?}"))
    }

    /// Lets things happen until `work` has ended.
    pub(super) fn wait_for(&mut self, end: Peer, work: impl Into<WrId>) -> Result<(), Finding> {
        let work = work.into();
        self.wait(end, &format!("an end of {work}"), |seen| seen.work() == Some(work))
    }

    pub(super) fn wait_until(
        &mut self,
        done: impl Fn(&Self) -> bool,
        what: impl Fn() -> String,
    ) -> Result<(), Finding> {
        let mut waited = Duration::ZERO;
        loop {
            self.look();
            if done(self) {
                return Ok(());
            }
            if waited >= self.patience {
                let seen: Vec<_> = Peer::ALL.iter().map(|end| self.seen(*end)).collect();
                return broken(format!("waited in vain for {}; seen: {seen:?}", what()));
            }
            self.fixture.pass(TURN);
            waited = waited.saturating_add(TURN);
        }
    }

    /// Lets enough time pass for anything that is under way.
    pub(super) fn quiet(&mut self) {
        let time = QUIET.max(self.patience.checked_div(200).unwrap_or_default());
        let mut waited = Duration::ZERO;
        while waited < time {
            self.fixture.pass(TURN);
            self.look();
            waited = waited.saturating_add(TURN);
        }
    }

    /// Disconnects, and checks that everything posted came back once and the end was reported once.
    pub(super) fn disconnect(&mut self, end: Peer) -> Result<(), Finding> {
        self.execute(end, BackendOp::Disconnect);
        self.ring_doorbell(end);
        let over = |seen: &Seen| matches!(seen, Seen::Disconnected(_) | Seen::ConnectFailed(_));
        self.wait(end, "Disconnected", over)?;
        let posted = self.logs.get(end.index()).map(|log| log.posted.clone()).unwrap_or_default();
        for work in &posted {
            self.wait_for(end, *work)?;
        }
        self.quiet();
        let ends = self.count(end, over);
        ensure(ends == 1, || format!("the end was reported {ends} times at {end:?}"))?;
        let late = self.place(end, |seen| matches!(seen, Seen::Connected(_))) > self.place(end, over);
        ensure(!late, || format!("Connected after the end: {:?}", self.seen(end)))?;
        posted.iter().try_for_each(|work| self.ended_once(end, *work))
    }

    pub(super) fn ended_once(&self, end: Peer, work: impl Into<WrId>) -> Result<(), Finding> {
        let work = work.into();
        let ends = self.ends(end, work);
        ensure(ends.len() == 1, || format!("{work} ended {} times at {end:?}: {ends:?}", ends.len()))
    }

    /// Takes in what every end has to say.
    fn look(&mut self) {
        let Self { fixture, logs, unheeded, .. } = self;
        for (end, log) in Peer::ALL.iter().zip(logs) {
            // An end that nothing was posted to may not exist.
            if log.posted.is_empty() || *unheeded == Some(*end) {
                continue;
            }
            let mut backend = fixture.backend(*end);
            while let Some(mut seen) = backend.next_input().map(|input| Seen::of(&input)) {
                if let Seen::Received { id, bytes, .. } = &mut seen {
                    bytes.extend_from_slice(backend.received(*id));
                }
                log.seen.push(seen);
            }
        }
    }

    fn mint(&mut self, end: Peer, kind: usize, slots: u32) -> Slot {
        let next = self.logs.get_mut(end.index()).and_then(|log| log.next.get_mut(kind));
        let Some(next) = next else { return Slot { generation: 0, index: 0 } };
        let (generation, index) =
            (next.checked_div(slots).unwrap_or(0), next.checked_rem(slots).unwrap_or(0));
        *next = next.wrapping_add(1);
        Slot { generation, index: u16::try_from(index).unwrap_or(0) }
    }

    fn note(&mut self, end: Peer, work: impl Into<WrId>) {
        if let Some(log) = self.logs.get_mut(end.index()) {
            log.posted.push(work.into());
        }
    }
}
