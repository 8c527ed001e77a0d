//! Two endpoints driven over the reference backend: the loop that examples and programs use.
#![cfg(all(feature = "kit", feature = "endpoint"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::kit::reference::{Reference, ReferenceBackend, ReferenceBuffer, ReferenceFixture};
use smbd_core::backend::kit::{Fixture, Lab, Peer, Situation};
use smbd_core::backend::{
    Backend, BackendOp, BufferLookup, DriveError, Handler, HostMemory, Payload, Protocol, ReceiveMemory,
    UnknownBuffer, drive,
};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError, ConnectReason};
use smbd_core::{
    Access, Action, Body, BufferDescriptorV1, Close, Config, Connection, Endpoint, Event, Input, Instant,
    OpId, Params, RdmaVerb, RecvId, RegId, Role, WrId,
};

const ENDS: [Peer; 2] = [Peer::INITIATOR, Peer::ACCEPTOR];

/// Remembers what it hears, and answers each message with its bytes turned round.
#[derive(Default)]
struct Echo {
    answers: bool,
    log: Vec<String>,
    messages: Vec<Vec<u8>>,
    operations: BTreeMap<OpId, ReferenceBuffer>,
    registrations: BTreeMap<RegId, ReferenceBuffer>,
    segments: Vec<BufferDescriptorV1>,
}

impl BufferLookup<ReferenceBuffer> for Echo {
    fn operation(&self, op: OpId) -> Option<&ReferenceBuffer> {
        self.operations.get(&op)
    }

    fn registration(&self, id: RegId) -> Option<&ReferenceBuffer> {
        self.registrations.get(&id)
    }
}

impl<'a> Handler<ReferenceBackend<'a>, Endpoint> for Echo {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut ReferenceBackend<'a>, event: EndpointEvent) {
        self.log.push(match event {
            EndpointEvent::Message(message) => {
                let bytes = message.bytes(backend).unwrap().to_vec();
                let how = if matches!(message, Message::Borrowed(_)) { "borrowed" } else { "owned" };
                if let Message::Borrowed(fragment) = message {
                    endpoint.release(Instant::ORIGIN, fragment).unwrap();
                }
                let told = format!("{} bytes, {how}", bytes.len());
                if self.answers {
                    let answer: Bytes = bytes.iter().rev().copied().collect();
                    endpoint.send(backend.now(), answer, None).unwrap();
                }
                self.messages.push(bytes);
                told
            }
            EndpointEvent::Established(_) => "established".into(),
            EndpointEvent::Sent { payload, result, .. } => {
                format!("sent {} bytes: {result:?}", payload.len())
            }
            EndpointEvent::RdmaDone { result, .. } => format!("RDMA: {result:?}"),
            EndpointEvent::Registered { id, result } => {
                self.segments = endpoint.connection().live_segments(id).collect();
                format!("registered: {result:?}")
            }
            EndpointEvent::Closed(reason) => format!("closed: {reason}"),
            EndpointEvent::ConnectFailed(error) => format!("connect failed: {error}"),
            EndpointEvent::Drained => "drained".into(),
            other @ (EndpointEvent::Invalidated { .. }
            | EndpointEvent::Deregistered { .. }
            | EndpointEvent::Probed(_)
            | EndpointEvent::Writable) => format!("{other:?}"),
        });
    }
}

struct Pair {
    fixture: ReferenceFixture,
    endpoints: [Endpoint; 2],
    uppers: [Echo; 2],
    deadlines: [Option<Instant>; 2],
}

impl Pair {
    fn new(situation: Situation) -> Self {
        let config = Config::try_from(Params::example()).unwrap();
        let fixture = Reference::default().fixture(situation, &config).unwrap();
        let endpoints =
            [Role::Initiator, Role::Acceptor].map(|role| Endpoint::new(role, &config, Instant::ORIGIN));
        let uppers = [Echo::default(), Echo { answers: true, ..Echo::default() }];
        Self { fixture, endpoints, uppers, deadlines: [None; 2] }
    }

    fn turn(&mut self, index: usize) {
        let mut backend = self.fixture.backend(ENDS[index]);
        let (endpoint, upper) = (&mut self.endpoints[index], &mut self.uppers[index]);
        self.deadlines[index] = drive(endpoint, &mut backend, upper).unwrap();
    }

    fn run(&mut self, turns: u32) {
        for _ in 0..turns {
            (0..2).for_each(|index| self.turn(index));
            self.fixture.pass(Duration::from_millis(1));
        }
    }

    fn now(&mut self) -> Instant {
        self.fixture.backend(Peer::INITIATOR).now()
    }
}

fn pattern(len: usize) -> Bytes {
    (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

#[test]
fn messages_go_there_and_back_and_the_end_is_orderly() {
    let mut pair = Pair::new(Situation::Connects);
    pair.run(20);
    for len in [1, 1000, 50_000] {
        let now = pair.now();
        pair.endpoints[0].send(now, pattern(len), None).unwrap();
        pair.run(400);
    }
    let now = pair.now();
    pair.endpoints[0].close(now, Close::Flush { until: now.saturating_add(Duration::from_secs(1)) });
    pair.run(20);
    for (len, echo) in [1, 1000, 50_000].into_iter().zip(&pair.uppers[0].messages) {
        assert!(echo.iter().rev().eq(&pattern(len)), "{len} bytes");
    }
    let logs = pair.uppers.map(|upper| upper.log.join("\n"));
    insta::assert_snapshot!(logs.join("\n--\n"), @r"
    established
    sent 1 bytes: Ok(())
    1 bytes, borrowed
    sent 1000 bytes: Ok(())
    1000 bytes, borrowed
    sent 50000 bytes: Ok(())
    50000 bytes, owned
    closed: closed by this side
    drained
    --
    established
    1 bytes, borrowed
    sent 1 bytes: Ok(())
    1000 bytes, borrowed
    sent 1000 bytes: Ok(())
    50000 bytes, owned
    sent 50000 bytes: Ok(())
    closed: closed by the peer (3.1.7.1)
    drained
    ");
}

#[test]
fn rdma_moves_bytes_between_the_buffers_the_upper_layers_named() {
    let mut pair = Pair::new(Situation::Connects);
    pair.run(20);
    let bytes = pattern(5000);
    let far = pair.fixture.backend(Peer::ACCEPTOR).allocate(5000).unwrap();
    let id = pair.endpoints[1].register(Instant::ORIGIN, Access::ReadWrite, 1).unwrap();
    pair.uppers[1].registrations.insert(id, far.clone());
    pair.run(20);
    let remote: Arc<[BufferDescriptorV1]> = pair.uppers[1].segments.clone().into();
    let mut near = Vec::new();
    for verb in [RdmaVerb::Write, RdmaVerb::Read] {
        let mut backend = pair.fixture.backend(Peer::INITIATOR);
        let buffer = backend.allocate(5000).unwrap();
        if verb == RdmaVerb::Write {
            backend.fill(&buffer, 0, &bytes).unwrap();
        }
        let now = pair.now();
        let op = pair.endpoints[0].rdma(now, verb, 5000, remote.clone(), 0).unwrap();
        pair.uppers[0].operations.insert(op, buffer.clone());
        near.push(buffer);
        pair.run(20);
    }
    for buffer in [&far, &near[1]] {
        let mut now = vec![0; 5000];
        pair.fixture.backend(Peer::INITIATOR).read(buffer, 0, &mut now).unwrap();
        assert_eq!(now, bytes);
    }
    assert_eq!(pair.uppers[0].log, ["established", "RDMA: Ok(())", "RDMA: Ok(())"]);
}

#[test]
fn each_request_of_an_operation_has_its_own_part_of_the_buffer() {
    let mut pair = Pair::new(Situation::Connects);
    pair.run(20);
    // Two pieces of the peer's memory, so two requests.
    let mut remote: Vec<BufferDescriptorV1> = Vec::new();
    let far = [2000, 3000].map(|len| {
        let far = pair.fixture.backend(Peer::ACCEPTOR).allocate(len).unwrap();
        let id = pair.endpoints[1].register(Instant::ORIGIN, Access::ReadWrite, 1).unwrap();
        pair.uppers[1].registrations.insert(id, far.clone());
        pair.run(20);
        remote.append(&mut pair.uppers[1].segments);
        far
    });
    let bytes = pattern(5000);
    let near = [RdmaVerb::Write, RdmaVerb::Read].map(|verb| {
        let mut backend = pair.fixture.backend(Peer::INITIATOR);
        let near = backend.allocate(5000).unwrap();
        if verb == RdmaVerb::Write {
            backend.fill(&near, 0, &bytes).unwrap();
        }
        let now = pair.now();
        let op = pair.endpoints[0].rdma(now, verb, 5000, remote.clone().into(), 0).unwrap();
        pair.uppers[0].operations.insert(op, near.clone());
        pair.run(20);
        near
    });
    let mut contents = |buffer, len| {
        let mut now = vec![0; len];
        pair.fixture.backend(Peer::INITIATOR).read(buffer, 0, &mut now).unwrap();
        now
    };
    assert_eq!(contents(&far[0], 2000), bytes[..2000]);
    assert_eq!(contents(&far[1], 3000), bytes[2000..]);
    assert_eq!(contents(&near[1], 5000), bytes);
}

#[test]
fn a_message_invalidates_the_token_that_is_sent_with_it() {
    let mut pair = Pair::new(Situation::Connects);
    pair.run(20);
    let far = pair.fixture.backend(Peer::ACCEPTOR).allocate(100).unwrap();
    let id = pair.endpoints[1].register(Instant::ORIGIN, Access::Read, 1).unwrap();
    pair.uppers[1].registrations.insert(id, far);
    pair.run(20);
    let token = pair.uppers[1].segments[0].token;
    let now = pair.now();
    pair.endpoints[0].send(now, pattern(10), Some(token)).unwrap();
    pair.run(20);
    let invalidated = format!("{:?}", EndpointEvent::Invalidated { id, token });
    assert!(pair.uppers[1].log.contains(&invalidated), "{:?}", pair.uppers[1].log);
    assert_eq!(pair.endpoints[1].connection().live_segments(id).count(), 0);
}

#[test]
fn a_silent_peer_is_given_up_at_the_deadline_the_loop_returned() {
    let mut pair = Pair::new(Situation::Connects);
    pair.run(20);
    // From now on the acceptor is not driven: it answers no keepalive.
    for _ in 0..4 {
        pair.turn(0);
        let (now, at) = (pair.now(), pair.deadlines[0]);
        let Some(at) = at else { break };
        pair.fixture.pass(at.saturating_since(now));
    }
    pair.turn(0);
    assert_eq!(pair.uppers[0].log[1], format!("closed: {}", CloseReason::KeepaliveTimeout));
    pair.run(5);
    assert_eq!(pair.uppers[0].log.last().unwrap(), "drained");
}

#[test]
fn a_refused_connection_drains() {
    let mut pair = Pair::new(Situation::Refused);
    pair.run(5);
    let failed = ConnectError::Connect(ConnectReason::Refused);
    assert_eq!(pair.uppers[0].log, [format!("connect failed: {failed}"), "drained".into()]);
}

/// Takes a backend by reference, as a wrapper around one would.
fn through<B: HostMemory<Buffer = ReferenceBuffer>>(
    mut backend: B,
    connection: &mut Connection,
    seen: &mut Vec<&'static str>,
) {
    while let Some(input) = backend.next_input() {
        if let Input::Received { id, len, .. } = input {
            assert_eq!(backend.received(id).len(), len as usize);
            seen.push("a message");
            let head = smbd_core::Head::of(backend.received(id));
            connection.handle(Instant::ORIGIN, Input::Received { id, head, len, invalidated: None }).unwrap();
        } else {
            connection.handle(Instant::ORIGIN, input).unwrap();
        }
    }
    let buffer = backend.allocate(4).unwrap();
    backend.fill(&buffer, 1, &[7, 8]).unwrap();
    let mut bytes = [9; 4];
    backend.read(&buffer, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [0, 7, 8, 0]);
    assert!(backend.now() >= Instant::ORIGIN);
    loop {
        match connection.poll_action() {
            Action::Wait(_) => break,
            Action::Notify(Event::Established(_)) => seen.push("established"),
            Action::Notify(_) => {}
            action => backend.execute(BackendOp::of(&action, connection, &Nothing).unwrap().unwrap()),
        }
    }
    backend.ring_doorbell();
}

struct Nothing;

impl BufferLookup<ReferenceBuffer> for Nothing {}

#[test]
fn what_has_no_memory_is_named_and_never_executed() {
    let config = Config::try_from(Params::example()).unwrap();
    let connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
    let id = |kind: u64| WrId::from_raw(kind << 56).unwrap();
    let (WrId::Send(send), WrId::Rdma(rdma), WrId::Reg(reg)) = (id(2), id(3), id(4)) else { panic!() };
    let (body, op) = some_names(&config);
    let head = smbd_core::Head::of(&[0; 24]);
    let remote = BufferDescriptorV1 { offset: 0, token: smbd_core::Token(1), length: 8 };
    let missing: [(Action, WrId); 3] = [
        (
            Action::PostSend {
                id: send,
                head,
                body: Some(body),
                invalidate: None,
                signal: true,
                solicit: false,
            },
            send.into(),
        ),
        (
            Action::PostRdma { id: rdma, op, verb: RdmaVerb::Read, local_offset: 0, remote, signal: true },
            rdma.into(),
        ),
        (Action::Register { id: reg, access: Access::Read, segments_max: 1 }, reg.into()),
    ];
    for (action, id) in missing {
        assert_eq!(BackendOp::of(&action, &connection, &Nothing).unwrap_err(), UnknownBuffer(id));
    }
    for action in [Action::Wait(None), Action::Notify(Event::Drained)] {
        assert!(BackendOp::<ReferenceBuffer>::of(&action, &connection, &Nothing).unwrap().is_none());
    }
}

/// An initiator with its negotiation behind it, and nothing to do.
fn established(config: &Config) -> Connection {
    let mut fixture = Reference::default().fixture(Situation::Connects, config).unwrap();
    let mut connections =
        [Role::Initiator, Role::Acceptor].map(|role| Connection::new(role, config, Instant::ORIGIN));
    for _ in 0..20 {
        for (end, connection) in ENDS.iter().zip(&mut connections) {
            through(&mut fixture.backend(*end), connection, &mut Vec::new());
        }
        fixture.pass(Duration::from_millis(1));
    }
    let [initiator, _] = connections;
    initiator
}

/// The body of a message and the name of an operation, as a connection gives them.
fn some_names(config: &Config) -> (Body, OpId) {
    let mut initiator = established(config);
    let remote: Arc<[BufferDescriptorV1]> =
        [BufferDescriptorV1 { offset: 0, token: smbd_core::Token(1), length: 8 }].into();
    let op = initiator.rdma(Instant::ORIGIN, RdmaVerb::Read, 8, remote, 0).unwrap();
    initiator.send(Instant::ORIGIN, 8, None).unwrap();
    loop {
        if let Action::PostSend { body: Some(body), .. } = initiator.poll_action() {
            return (body, op);
        }
    }
}

#[test]
fn a_registration_ends_with_all_of_its_segments() {
    let mut connection = established(&Config::try_from(Params::example()).unwrap());
    let id = connection.register(Instant::ORIGIN, Access::Read, 3).unwrap();
    assert!(matches!(connection.poll_action(), Action::Register { id: asked, .. } if asked == id));
    let tokens = [1, 2, 3].map(smbd_core::Token);
    let segments = tokens.map(|token| BufferDescriptorV1 { offset: 0, token, length: 8 });
    let input = Input::Registered { id, segments: &segments, bind_complete: true };
    connection.handle(Instant::ORIGIN, input).unwrap();
    connection.deregister(Instant::ORIGIN, id).unwrap();
    let action = loop {
        match connection.poll_action() {
            Action::Notify(_) => {}
            action => break action,
        }
    };
    let Some(BackendOp::Deregister { id: ended, segments }) =
        BackendOp::of(&action, &connection, &Nothing).unwrap()
    else {
        panic!("{action:?}")
    };
    let ended_tokens: Vec<_> = segments.iter().map(|segment| segment.token()).collect();
    assert_eq!((ended, &ended_tokens[..]), (id, &tokens[..]));
}

#[test]
fn a_borrowed_backend_is_a_backend() {
    let config = Config::try_from(Params::example()).unwrap();
    let mut fixture = Reference::default().fixture(Situation::Connects, &config).unwrap();
    let mut connections =
        [Role::Initiator, Role::Acceptor].map(|role| Connection::new(role, &config, Instant::ORIGIN));
    let mut seen = Vec::new();
    for _ in 0..20 {
        for (end, connection) in ENDS.iter().zip(&mut connections) {
            through(&mut fixture.backend(*end), connection, &mut seen);
        }
        fixture.pass(Duration::from_millis(1));
    }
    // The request; the response; the message that grants.
    assert_eq!(seen, ["a message", "established", "a message", "established", "a message"]);
}

#[test]
fn a_machine_is_drained_when_all_is_over() {
    fn drained(machine: &impl Protocol) -> bool {
        machine.is_drained()
    }
    let config = Config::try_from(Params::example()).unwrap();
    let mut connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
    let mut endpoint = Endpoint::new(Role::Initiator, &config, Instant::ORIGIN);
    assert!(!drained(&connection) && !drained(&endpoint));
    connection.close(Instant::ORIGIN, Close::Abort);
    endpoint.close(Instant::ORIGIN, Close::Abort);
    assert!(!drained(&connection) && !drained(&endpoint), "nobody was told yet");
    while !matches!(connection.poll_action(), Action::Notify(Event::Drained)) {}
    while !matches!(endpoint.poll_action(&Chatty).unwrap(), Action::Notify(EndpointEvent::Drained)) {}
    assert!(drained(&connection) && drained(&endpoint));
}

/// Sends a message of ten bytes, and has these for it.
struct Promise {
    bytes: &'static [u8],
    told: Vec<Event>,
}

impl BufferLookup<ReferenceBuffer> for Promise {
    fn body(&self, body: Body) -> Option<Payload<'_, ReferenceBuffer>> {
        assert_eq!(body.len, 10);
        Some(Payload::Copy(self.bytes))
    }
}

impl<'a> Handler<ReferenceBackend<'a>> for Promise {
    fn event(&mut self, connection: &mut Connection, _: &mut ReferenceBackend<'a>, event: Event) {
        if matches!(event, Event::Established(_)) && connection.role() == Role::Initiator {
            connection.send(Instant::ORIGIN, 10, None).unwrap();
        }
        if let Event::Data(fragment) = event {
            assert_eq!(fragment.len(), 10);
            connection.release(Instant::ORIGIN, fragment).unwrap();
        } else {
            self.told.push(event);
        }
    }
}

/// What an upper layer is told on both sides that has these bytes for a message of ten.
fn told_with(bytes: &'static [u8]) -> Result<Vec<Event>, UnknownBuffer> {
    let config = Config::try_from(Params::example()).unwrap();
    let mut fixture = Reference::default().fixture(Situation::Connects, &config).unwrap();
    let mut connections =
        [Role::Initiator, Role::Acceptor].map(|role| Connection::new(role, &config, Instant::ORIGIN));
    let mut upper = Promise { bytes, told: Vec::new() };
    for _ in 0..20 {
        for (end, connection) in ENDS.iter().zip(&mut connections) {
            if let Err(error) = drive(connection, &mut fixture.backend(*end), &mut upper) {
                let DriveError::Handler(missing) = error else { panic!("{error}") };
                return Err(missing);
            }
        }
        fixture.pass(Duration::from_millis(1));
    }
    Ok(upper.told)
}

#[test]
fn an_upper_layer_has_exactly_the_bytes_it_promised_or_stops_the_loop() {
    let told = told_with(&[7; 10]).unwrap();
    assert!(told.iter().any(|event| matches!(event, Event::Sent { result: Ok(()), .. })), "{told:?}");
    for bytes in [&[7; 9][..], &[7; 11]] {
        assert!(matches!(told_with(bytes), Err(UnknownBuffer(WrId::Send(_)))));
    }
}

/// Always has something to say.
struct Chatty;

impl ReceiveMemory for Chatty {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Chatty {
    type Buffer = ();

    fn now(&self) -> Instant {
        Instant::from_nanos(7)
    }

    fn execute(&mut self, _: BackendOp<'_, ()>) {}

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        Some(Input::Timeout)
    }
}

struct Deaf;

impl BufferLookup<()> for Deaf {}

impl Handler<Chatty> for Deaf {
    fn event(&mut self, _: &mut Connection, _: &mut Chatty, event: Event) {
        panic!("{event:?}");
    }
}

#[test]
fn a_backend_that_never_falls_silent_lets_others_have_their_turn() {
    let config = Config::try_from(Params::example()).unwrap();
    let mut connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
    let again = drive(&mut connection, &mut Chatty, &mut Deaf).unwrap();
    assert_eq!(again, Some(Instant::from_nanos(7)));
}
