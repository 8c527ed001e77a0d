//! What a connection takes: memory when it is made, none after (law 7), and the sizes at the interface.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use smbd_core::error::DisconnectReason;
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest};
use smbd_core::{
    Access, Action, BufferDescriptorV1, Close, Config, Connection, Event, Head, Input, Instant, Limits,
    Params, RdmaId, RdmaVerb, RecvId, RegId, Role, SendId, Token, WrId,
};

/// A device that keeps names in arrays, and a peer that always has the right answer; neither allocates.
struct Bench {
    connection: Connection,
    now: Instant,
    posted: Names<RecvId, 64>,
    sends: Names<SendId, 64>,
    rdma: Names<RdmaId, 64>,
    registration: Option<RegId>,
    drained: bool,
    results: u32,
    fragments: u32,
}

struct Names<T, const N: usize> {
    names: [Option<T>; N],
    head: usize,
    len: usize,
}

impl<T: Copy, const N: usize> Names<T, N> {
    const fn new() -> Self {
        Self { names: [None; N], head: 0, len: 0 }
    }

    fn push(&mut self, name: T) {
        assert!(self.len < N);
        self.names[(self.head + self.len) % N] = Some(name);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let name = self.names[self.head].take();
        self.head = (self.head + 1) % N;
        self.len -= 1;
        name
    }
}

const SEGMENT: BufferDescriptorV1 = BufferDescriptorV1 { offset: 0x1000, token: Token(77), length: 4096 };

impl Bench {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            now: Instant::ORIGIN,
            posted: Names::new(),
            sends: Names::new(),
            rdma: Names::new(),
            registration: None,
            drained: false,
            results: 0,
            fragments: 0,
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.connection.handle(self.now, input).unwrap();
    }

    fn receive(&mut self, bytes: &[u8], len: u32, invalidated: Option<Token>) {
        let id = self.posted.pop().unwrap();
        self.handle(Input::Received { id, head: Head::of(bytes), len, invalidated });
    }

    fn data(&mut self, header: DataTransfer, invalidated: Option<Token>) {
        let mut bytes = [0; 32];
        header.encode(&mut bytes).unwrap();
        let len = if header.data_length > 0 { 24 + header.data_length } else { 20 };
        self.receive(&bytes[..32.min(usize::try_from(len).unwrap())], len, invalidated);
    }

    fn drain(&mut self) {
        loop {
            match self.connection.poll_action() {
                Action::Wait(_) => return,
                Action::PostRecv { id, .. } => self.posted.push(id),
                Action::PostSend { id, .. } => self.sends.push(id),
                Action::PostRdma { id, .. } => self.rdma.push(id),
                Action::Register { id, .. } => {
                    self.handle(Input::Registered { id, segments: &[SEGMENT], bind_complete: true });
                }
                Action::Deregister { id } => self.handle(Input::Deregistered { id }),
                Action::Disconnect => self.disconnect(),
                Action::Connect | Action::Accept => {}
                Action::Notify(event) => self.notify(event),
            }
        }
    }

    /// Polls and notes what is posted; what is told is lost.
    fn poll_only(&mut self) {
        match self.connection.poll_action() {
            Action::PostRecv { id, .. } => self.posted.push(id),
            Action::PostSend { id, .. } => self.sends.push(id),
            Action::PostRdma { id, .. } => self.rdma.push(id),
            other => drop(other),
        }
    }

    fn fail_one(&mut self, pick: fn(&mut Self) -> Option<WrId>) {
        if let Some(id) = pick(self) {
            self.handle(Input::Failed { id, error: smbd_core::error::WorkError::RetryExceeded });
        }
    }

    fn disconnect(&mut self) {
        while let Some(id) = self.posted.pop() {
            self.flush(id.into());
        }
        while let Some(id) = self.sends.pop() {
            self.flush(id.into());
        }
        while let Some(id) = self.rdma.pop() {
            self.flush(id.into());
        }
        self.handle(Input::Disconnected { reason: DisconnectReason::Local });
    }

    fn flush(&mut self, id: WrId) {
        self.handle(Input::Failed { id, error: smbd_core::error::WorkError::Flushed });
    }

    fn notify(&mut self, event: Event) {
        match event {
            Event::Data(fragment) => {
                self.fragments += 1;
                self.connection.release(self.now, fragment).unwrap();
            }
            Event::Registered { id, .. } => self.registration = Some(id),
            Event::Drained => self.drained = true,
            Event::Sent { .. } | Event::RdmaDone { .. } | Event::Deregistered { .. } | Event::Probed(_) => {
                self.results += 1;
            }
            Event::Established(_)
            | Event::ConnectFailed(_)
            | Event::Invalidated { .. }
            | Event::Writable
            | Event::Closed(_) => {}
        }
    }

    fn negotiate(&mut self) {
        self.drain();
        self.handle(Input::Connected { limits: LIMITS });
        let request = NegotiateRequest {
            min_version: 0x0100,
            max_version: 0x0100,
            credits_requested: 10,
            preferred_send_size: 1024,
            max_receive_size: 1024,
            max_fragmented_size: 131_072,
        };
        let mut bytes = [0; 20];
        request.encode(&mut bytes).unwrap();
        self.receive(&bytes, 20, None);
    }

    /// Some of everything, nothing of it polled.
    fn begin(&mut self, remote: &Arc<[BufferDescriptorV1]>) {
        self.negotiate();
        self.settle();
        let header = DataTransfer { credits_requested: 10, credits_granted: 40, ..DataTransfer::default() };
        self.data(header, None);
        self.data(DataTransfer { data_offset: 24, data_length: 1000, ..header }, None);
        self.connection.send(self.now, 2500, None).unwrap();
        self.connection.rdma(self.now, RdmaVerb::Read, 3000, Arc::clone(remote), 500).unwrap();
        self.connection.register(self.now, Access::Write, 1).unwrap();
        self.connection.probe(self.now).unwrap();
    }

    /// Data both ways, RDMA both ways, a registration that comes and goes, probes and answers.
    fn round(&mut self, round: u32, header: DataTransfer, remote: &Arc<[BufferDescriptorV1]>) {
        let part = DataTransfer { credits_granted: 9, data_offset: 24, data_length: 1000, ..header };
        self.data(DataTransfer { remaining_data_length: 1000, ..part }, None);
        self.data(part, None);
        self.settle();
        self.connection.send(self.now, 2500, Some(Token(3))).unwrap();
        for verb in [RdmaVerb::Read, RdmaVerb::Write] {
            self.connection.rdma(self.now, verb, 3000, Arc::clone(remote), 500).unwrap();
        }
        self.connection.register(self.now, Access::Write, 1).unwrap();
        self.connection.probe(self.now).unwrap();
        self.settle();
        let token = round.is_multiple_of(2).then_some(SEGMENT.token);
        self.data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, credits_granted: 5, ..header }, token);
        let registration = self.registration.take().unwrap();
        self.connection.deregister(self.now, registration).unwrap();
        self.settle();
        self.now = self.now.saturating_add(Duration::from_secs(121));
        self.handle(Input::Timeout);
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            self.drain();
            if let Some(id) = self.sends.pop() {
                self.handle(Input::Sent { id });
            } else if let Some(id) = self.rdma.pop() {
                self.handle(Input::RdmaDone { id });
            } else {
                return;
            }
        }
    }
}

const LIMITS: Limits = Limits {
    read_depth: 4,
    send_queue: 28,
    rdma_len_max: 1 << 20,
    registration_requests: 1,
    send_with_invalidate: true,
    reads_in_order: true,
};

/// Everything a connection can be asked to do, from connecting to drained.
fn life(bench: &mut Bench, remote: &Arc<[BufferDescriptorV1]>) {
    bench.negotiate();
    bench.settle();
    let header = DataTransfer { credits_requested: 10, credits_granted: 40, ..DataTransfer::default() };
    bench.data(header, None);
    for round in 0..50 {
        bench.round(round, header, remote);
    }
    bench.connection.send(bench.now, 100_000, None).unwrap();
    bench.connection.rdma(bench.now, RdmaVerb::Write, 3000, Arc::clone(remote), 0).unwrap();
    bench.connection.close(bench.now, Close::Abort);
    bench.drain();
}

#[test]
fn a_connection_allocates_nothing_after_its_creation() {
    let config = Config::try_from(Params::example()).unwrap();
    let remote: Arc<[BufferDescriptorV1]> = [SEGMENT, SEGMENT].into();
    let mut bench = Bench::new(Connection::new(Role::Acceptor, &config, Instant::ORIGIN));
    let count = measure(|| life(&mut bench, &remote));
    assert_eq!(count.count_total, 0, "{count:?}");
    assert!(bench.drained);
    // Each round: a message, two operations, a deregistration and a probe; two more commands aborted.
    assert_eq!((bench.results, bench.fragments), (50 * 5 + 2, 100));
    assert_eq!(Arc::strong_count(&remote), 1, "descriptors are given back");
}

#[test]
fn core_bytes_is_what_a_connection_takes() {
    for params in [
        Params::windows(),
        Params::linux_client(),
        Params::linux_server(),
        Params::example(),
        Params { rdma_ops: 0, rdma_slots: 0, registrations: 0, segments_max: 0, ..Params::example() },
        Params {
            borrowed_max: 1000,
            message_slots: 3000,
            send_slots: 7,
            segments_max: 500,
            ..Params::windows()
        },
    ] {
        let config = Config::try_from(params).unwrap();
        let mut connection = None;
        let count = measure(|| connection = Some(Connection::new(Role::Acceptor, &config, Instant::ORIGIN)));
        let heap = u64::try_from(count.bytes_current).unwrap();
        assert_eq!(count.bytes_max, heap, "nothing is taken only to be given back");
        assert_eq!(heap + size_of::<Connection>() as u64, config.budget().core_bytes);
    }
}

/// Bytes that one more of `change` costs.
fn cost(change: fn(&mut Params)) -> u64 {
    let base = Params::windows();
    let mut more = base.clone();
    change(&mut more);
    let bytes = |params| Config::try_from(params).unwrap().budget().core_bytes;
    bytes(more) - bytes(base)
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_connection_costs_so_much_and_each_slot_so_much_more() {
    let costs = [
        ("the connection", size_of::<Connection>() as u64),
        ("its statistics in it", size_of::<smbd_core::Stats>() as u64),
        ("its configuration in it", size_of::<Config>() as u64),
        ("a receive slot", cost(|p| p.borrowed_max += 1)),
        ("a send slot", cost(|p| p.send_slots += 1)),
        ("a queued message", cost(|p| p.message_slots += 1)),
        ("an RDMA operation", cost(|p| p.rdma_ops += 1)),
        ("an RDMA slot", cost(|p| p.rdma_slots += 1)),
        ("a registration", cost(|p| p.registrations += 1)),
        ("a segment", cost(|p| p.segments_max += 1)),
        ("the Windows profile", Config::try_from(Params::windows()).unwrap().budget().core_bytes),
    ];
    let table: String = costs.iter().map(|(name, bytes)| format!("{name}: {bytes}\n")).collect();
    assert!(size_of::<Connection>() <= 1024);
    insta::assert_snapshot!(table, @r"
    the connection: 960
    its statistics in it: 192
    its configuration in it: 136
    a receive slot: 24
    a send slot: 32
    a queued message: 20
    an RDMA operation: 84
    an RDMA slot: 8
    a registration: 50
    a segment: 32
    the Windows profile: 38464
    ");
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_border_is_small() {
    let sizes = [
        ("Action", size_of::<Action>()),
        ("Event", size_of::<Event>()),
        ("Input", size_of::<Input<'_>>()),
        ("Head", size_of::<Head>()),
        ("Fragment", size_of::<smbd_core::Fragment>()),
        ("Option<Instant>", size_of::<Option<Instant>>()),
        ("WrId", size_of::<WrId>()),
    ];
    let table: String = sizes.iter().map(|(name, bytes)| format!("{name}: {bytes}\n")).collect();
    insta::assert_snapshot!(table, @r"
    Action: 72
    Event: 48
    Input: 56
    Head: 33
    Fragment: 24
    Option<Instant>: 8
    WrId: 12
    ");
}

/// What may end a connection, if anything does.
const ENDS: [fn(&mut Bench); 7] = [
    |_| {},
    |bench| bench.connection.close(bench.now, Close::Abort),
    |bench| bench.handle(Input::Disconnected { reason: DisconnectReason::PeerClosed }),
    |bench| bench.receive(&[0; 3], 3, None),
    |bench| bench.fail_one(|bench| bench.posted.pop().map(WrId::from)),
    |bench| bench.fail_one(|bench| bench.sends.pop().map(WrId::from)),
    |bench| bench.fail_one(|bench| bench.rdma.pop().map(WrId::from)),
];

#[test]
fn a_connection_dropped_at_any_moment_leaves_nothing() {
    let config = Config::try_from(Params::example()).unwrap();
    for (polls, end) in (0..30).flat_map(|polls| ENDS.map(|end| (polls, end))) {
        for polls_after in 0..30 {
            let count = measure(|| {
                let remote: Arc<[BufferDescriptorV1]> = [SEGMENT, SEGMENT].into();
                let mut bench = Bench::new(Connection::new(Role::Acceptor, &config, Instant::ORIGIN));
                bench.begin(&remote);
                for _ in 0..polls {
                    bench.poll_only();
                }
                end(&mut bench);
                for _ in 0..polls_after {
                    bench.poll_only();
                }
            });
            assert_eq!((count.count_current, count.bytes_current), (0, 0));
        }
    }
}
