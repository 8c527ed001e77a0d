//! Two endpoints over the simulated device: whole messages, borrowed and copied, on both kinds of network.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use smbd_core::backend::{Backend, BufferLookup, Handler, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::CloseReason;
use smbd_core::{Close, Config, Endpoint, Instant, OpId, Params, RegId, Role};
use smbd_sim::Side;
use smbd_sim::backend::{Fate, SimBackend, SimBuffer, SimNet};
use smbd_sim::nic::{NicConfig, Personality};
use smbd_sim::world::WorldConfig;

const SIDES: [Side; 2] = [Side::Initiator, Side::Acceptor];

/// Keeps every message, and the first few borrowed ones where they lie until there are too many.
struct Reader {
    hoard: usize,
    borrowed: Vec<Message>,
    received: Vec<Bytes>,
    given_back: usize,
    closed: Option<CloseReason>,
    drained: bool,
}

impl BufferLookup<SimBuffer> for Reader {
    fn operation(&self, _: OpId) -> Option<&SimBuffer> {
        None
    }

    fn registration(&self, _: RegId) -> Option<&SimBuffer> {
        None
    }
}

impl Reader {
    fn give_back(&mut self, endpoint: &mut Endpoint, now: Instant, keep: usize) {
        while self.borrowed.len() > keep {
            if let Message::Borrowed(fragment) = self.borrowed.remove(0) {
                endpoint.release(now, fragment).expect("its own fragment");
            }
        }
    }
}

impl<'a> Handler<SimBackend<'a>, Endpoint> for Reader {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut SimBackend<'a>, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => {
                self.received.push(Bytes::copy_from_slice(message.bytes(backend).expect("it was received")));
                if matches!(message, Message::Borrowed(_)) {
                    self.borrowed.push(message);
                    self.give_back(endpoint, backend.now(), self.hoard);
                }
            }
            EndpointEvent::Sent { .. } => self.given_back += 1,
            EndpointEvent::Closed(reason) => {
                self.closed = Some(reason);
                self.give_back(endpoint, backend.now(), 0);
            }
            EndpointEvent::Drained => self.drained = true,
            _ => {}
        }
    }
}

struct Pair {
    net: SimNet,
    endpoints: [Endpoint; 2],
    readers: [Reader; 2],
}

impl Pair {
    fn new(params: Params, personality: Personality, hoard: usize) -> Self {
        let config = Config::try_from(params).expect("valid");
        let nic = NicConfig::of(personality, &config.budget());
        let net = SimNet::new(&WorldConfig::new(7, personality), &config, &nic, Fate::Connects, 1);
        let endpoint = |role| Endpoint::new(role, &config, Instant::ORIGIN);
        let reader = || Reader {
            hoard,
            borrowed: Vec::new(),
            received: Vec::new(),
            given_back: 0,
            closed: None,
            drained: false,
        };
        Self {
            net,
            endpoints: [endpoint(Role::Initiator), endpoint(Role::Acceptor)],
            readers: [reader(), reader()],
        }
    }

    fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..20_000 {
            for (index, side) in SIDES.into_iter().enumerate() {
                let mut end = self.net.end(0, side).expect("there is one connection");
                drive(&mut self.endpoints[index], &mut end, &mut self.readers[index])
                    .expect("no broken contract");
            }
            if done(self) {
                return;
            }
            self.net.pass(Duration::from_micros(10));
        }
        panic!("not done in time");
    }

    fn now(&mut self) -> Instant {
        self.net.end(0, Side::Initiator).expect("there is one connection").now()
    }
}

fn pattern(len: usize, seed: usize) -> Bytes {
    (0..len).map(|n| u8::try_from((n * 7 + seed) % 251).expect("below 251")).collect()
}

fn established(pair: &Pair) -> bool {
    pair.endpoints.iter().all(|endpoint| endpoint.connection().negotiated().is_some())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_whole_and_in_order_and_every_payload_comes_back(
        lens in proptest::array::uniform2(proptest::collection::vec(1..20_000_usize, 0..12)),
        borrowed_max in 0..4_u16,
        hoard in 0..4_usize,
        iwarp in any::<bool>(),
    ) {
        let personality = if iwarp { Personality::Iwarp } else { Personality::Roce };
        // Who holds no more than it may never lowers what is posted for the peer.
        let params = Params { borrowed_max, message_slots: 16, keepalive: None, ..Params::example() };
        let mut pair = Pair::new(params, personality, hoard.min(usize::from(borrowed_max)));
        pair.run_until(established);
        pair.net.pass(Duration::from_millis(1));
        pair.run_until(|_| true);
        let now = pair.now();
        for (index, lens) in lens.iter().enumerate() {
            for (seed, len) in lens.iter().enumerate() {
                pair.endpoints[index].send(now, pattern(*len, seed), None).expect("room for it");
            }
        }
        pair.run_until(|pair| {
            (0..2).all(|index| {
                pair.readers[1 - index].received.len() == lens[index].len()
                    && pair.readers[index].given_back == lens[index].len()
            })
        });
        for (index, lens) in lens.iter().enumerate() {
            let sent = lens.iter().enumerate().map(|(seed, len)| pattern(*len, seed));
            prop_assert!(pair.readers[1 - index].received.iter().cloned().eq(sent));
            let endpoint = &pair.endpoints[1 - index];
            let whole: usize = lens.iter().sum();
            prop_assert!(endpoint.stats().bytes_copied <= u64::try_from(whole).expect("small"));
            prop_assert!(endpoint.connection().credits().posted() >= 10 - u32::from(borrowed_max == 0));
        }
        let now = pair.now();
        pair.endpoints[0].close(now, Close::Flush { until: now.saturating_add(Duration::from_secs(1)) });
        pair.run_until(|pair| pair.readers.iter().all(|reader| reader.drained));
        prop_assert_eq!(pair.readers[0].closed, Some(CloseReason::Local));
        prop_assert_eq!(pair.readers[1].closed, Some(CloseReason::PeerClosed));
        prop_assert_eq!(pair.net.breaches().count(), 0);
    }
}
