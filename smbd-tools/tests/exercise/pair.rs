//! A client of the test and a server, over the simulated device.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{Backend, BufferLookup, Handler, HostMemory, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, OpError};
use smbd_core::{
    Access, BufferDescriptorV1, Close, Config, Endpoint, Instant, OpId, Params, RdmaVerb, RegId, Role, Token,
};
use smbd_sim::Side;
use smbd_sim::backend::{Fate, SimBackend, SimBuffer, SimNet};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::WorldConfig;
use smbd_tools::exercise::{Answer, Limits, Request, Server, Tagged};

pub const PERSONALITIES: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

/// What the client has heard.
#[derive(Default)]
pub struct Client {
    operations: BTreeMap<OpId, SimBuffer>,
    registrations: BTreeMap<RegId, SimBuffer>,
    registered: Vec<RegId>,
    done: Vec<(OpId, Result<(), OpError>)>,
    pub ordinary: Vec<Bytes>,
    pub answers: Vec<Tagged<Answer>>,
    pub invalidated: Vec<Token>,
    pub closed: Option<CloseReason>,
    drained: bool,
}

impl BufferLookup<SimBuffer> for Client {
    fn operation(&self, op: OpId) -> Option<&SimBuffer> {
        self.operations.get(&op)
    }

    fn registration(&self, id: RegId) -> Option<&SimBuffer> {
        self.registrations.get(&id)
    }
}

impl<'a> Handler<SimBackend<'a>, Endpoint> for Client {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut SimBackend<'a>, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => {
                let bytes = Bytes::copy_from_slice(message.bytes(backend).expect("it was received"));
                if let Message::Borrowed(fragment) = message {
                    endpoint.release(backend.now(), fragment).expect("its own fragment");
                }
                match Answer::parse(&bytes).expect("well-formed") {
                    Some(answer) => self.answers.push(answer),
                    None => self.ordinary.push(bytes),
                }
            }
            EndpointEvent::Registered { id, result } => {
                result.expect("the device can");
                self.registered.push(id);
            }
            EndpointEvent::RdmaDone { op, result } => self.done.push((op, result)),
            EndpointEvent::Invalidated { token, .. } => self.invalidated.push(token),
            EndpointEvent::Closed(reason) => self.closed = Some(reason),
            EndpointEvent::Drained => self.drained = true,
            _ => {}
        }
    }
}

/// Both of them, established.
pub struct Pair {
    net: SimNet,
    endpoints: [Endpoint; 2],
    pub client: Client,
    pub server: Server<SimBuffer>,
    server_drained: bool,
    next_tag: u32,
}

/// The server, and whether it is drained.
struct Watched<'a>(&'a mut Server<SimBuffer>, &'a mut bool);

impl BufferLookup<SimBuffer> for Watched<'_> {
    fn operation(&self, op: OpId) -> Option<&SimBuffer> {
        self.0.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&SimBuffer> {
        self.0.registration(id)
    }
}

impl<'a> Handler<SimBackend<'a>, Endpoint> for Watched<'_> {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut SimBackend<'a>, event: EndpointEvent) {
        *self.1 |= matches!(event, EndpointEvent::Drained);
        self.0.event(endpoint, backend, event);
    }
}

impl Pair {
    pub fn new(personality: Personality) -> Self {
        Self::with(personality, Limits::default(), Params { keepalive: None, ..Params::example() })
    }

    pub fn with(personality: Personality, limits: Limits, params: Params) -> Self {
        let config = Config::try_from(params).expect("valid");
        let nic = NicConfig::of(personality, &config.budget());
        let net = SimNet::new(&WorldConfig::new(7, personality), &config, &nic, Fate::Connects, 1);
        let endpoint = |role| Endpoint::new(role, &config, Instant::ORIGIN);
        let mut pair = Self {
            net,
            endpoints: [endpoint(Role::Initiator), endpoint(Role::Acceptor)],
            client: Client::default(),
            server: Server::new(limits),
            server_drained: false,
            next_tag: 1,
        };
        pair.run_until(|pair| {
            pair.endpoints.iter().all(|endpoint| endpoint.connection().negotiated().is_some())
        });
        // The acceptor waits for the initiator's first credits.
        pair.net.pass(Duration::from_millis(1));
        pair.run_until(|_| true);
        pair
    }

    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..50_000 {
            let [client, server] = &mut self.endpoints;
            let mut end = self.net.end(0, Side::Initiator).expect("there is one connection");
            drive(client, &mut end, &mut self.client).expect("no broken contract");
            let mut end = self.net.end(0, Side::Acceptor).expect("there is one connection");
            let mut watched = Watched(&mut self.server, &mut self.server_drained);
            drive(server, &mut end, &mut watched).expect("no broken contract");
            if done(self) {
                return;
            }
            self.net.pass(Duration::from_micros(10));
        }
        panic!("not done in time; the client has heard {:?}", self.client.answers);
    }

    /// Sends a message; waits for room.
    pub fn send(&mut self, message: Bytes) {
        assert!(self.try_send(message), "the connection ended: {:?}", self.client.closed);
    }

    /// Sends a message; waits for room. `false` if the connection has ended.
    pub fn try_send(&mut self, message: Bytes) -> bool {
        let mut message = message;
        loop {
            let now = self.now();
            match self.endpoints[0].send(now, message, None) {
                Ok(_) => break,
                Err(refused) => message = refused.payload,
            }
            if self.client.closed.is_some() {
                return false;
            }
            self.net.pass(Duration::from_micros(10));
            self.run_until(|_| true);
        }
        self.run_until(|_| true);
        true
    }

    /// Sends messages in one go, for which the connection must have room.
    pub fn send_at_once(&mut self, messages: impl IntoIterator<Item = Bytes>) {
        let now = self.now();
        for message in messages {
            self.endpoints[0].send(now, message, None).expect("there is room");
        }
    }

    /// Sends a request without waiting for the answer.
    pub fn send_request(&mut self, request: &Request) -> u32 {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.send(request.encode(tag));
        tag
    }

    pub fn answer(&mut self, tag: u32) -> Answer {
        let at = |pair: &Self| pair.client.answers.iter().position(|answer| answer.tag == tag);
        self.run_until(|pair| at(pair).is_some());
        let at = at(self).expect("it has come");
        self.client.answers.remove(at).what
    }

    pub fn ask(&mut self, request: &Request) -> Answer {
        let tag = self.send_request(request);
        self.answer(tag)
    }

    /// The text of the failure that answers a request.
    pub fn refusal(&mut self, request: &Request) -> String {
        match self.ask(request) {
            Answer::Failed(failure) => failure.to_string(),
            other => panic!("{request:?} was answered with {other:?}"),
        }
    }

    fn end(&mut self) -> SimBackend<'_> {
        self.net.end(0, Side::Initiator).expect("there is one connection")
    }

    pub fn now(&mut self) -> Instant {
        self.end().now()
    }

    /// A buffer of the client with these bytes, open to the server.
    pub fn register(&mut self, bytes: &[u8], access: Access) -> (SimBuffer, Vec<BufferDescriptorV1>) {
        let mut end = self.end();
        let buffer = end.allocate(u32::try_from(bytes.len()).expect("short")).expect("there is memory");
        end.fill(&buffer, 0, bytes).expect("as long as its bytes");
        let now = end.now();
        let id = self.endpoints[0].register(now, access, 1).expect("there is room");
        self.client.registrations.insert(id, buffer.clone());
        self.run_until(|pair| pair.client.registered.contains(&id));
        (buffer, self.endpoints[0].connection().live_segments(id).collect())
    }

    pub fn read(&mut self, buffer: &SimBuffer, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.end().read(buffer, 0, &mut bytes).expect("inside");
        bytes
    }

    /// RDMA by the client; gives its buffer back.
    pub fn rdma(
        &mut self,
        verb: RdmaVerb,
        bytes: &[u8],
        remote: &[BufferDescriptorV1],
        offset: u64,
    ) -> Vec<u8> {
        let len = u32::try_from(bytes.len()).expect("short");
        let mut end = self.end();
        let buffer = end.allocate(len).expect("there is memory");
        end.fill(&buffer, 0, bytes).expect("as long as its bytes");
        let now = self.now();
        let remote = Arc::from(remote);
        let op = self.endpoints[0].rdma(now, verb, len, remote, offset).expect("there is room");
        self.client.operations.insert(op, buffer.clone());
        self.run_until(|pair| pair.client.done.iter().any(|(done, _)| *done == op));
        let result = self.client.done.iter().find(|(done, _)| *done == op).expect("just seen").1;
        result.expect("the access is allowed");
        self.read(&buffer, bytes.len())
    }

    pub fn is_drained(&self) -> bool {
        self.client.drained && self.server_drained
    }

    /// Closes, and waits for the end.
    pub fn finish(&mut self) {
        let now = self.now();
        self.endpoints[0].close(now, Close::Flush { until: now.saturating_add(Duration::from_millis(10)) });
        self.run_until(Self::is_drained);
    }

    /// Closes, and sees that nothing is left.
    pub fn close(mut self) {
        self.finish();
        assert_eq!(self.server.buffer_bytes(), 0);
        assert_eq!(self.net.breaches().count(), 0);
    }
}
