//! Ten thousand connections on one engine.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::error::CloseReason;
use smbd_core::{Close, Config, Endpoint, Keepalive, Params, Role};
use smbd_link::engine::{Engine, Key};

use super::peers::{Peers, Waiting};
use super::program::Program;
use super::wire::End;

const CONNECTIONS: usize = 10_000;
/// Each so many is busy: a hundred of them.
const BUSY_EVERY: usize = 100;
const QUESTIONS: u32 = 50;
const INTERVAL: Duration = Duration::from_secs(120);
/// What one keepalive takes of a connection: it is driven when its deadline comes and when the answer comes, and armed after each.
const LOOKS_FOR_A_KEEPALIVE: u32 = 10;

type Many = Engine<Program, Endpoint, End, Waiting>;

/// An engine that has accepted all connections, and its peers.
struct Crowd {
    engine: Many,
    peers: Rc<Peers>,
    keys: Vec<Key>,
}

impl Crowd {
    fn new(busy_poll_micros: u64) -> Self {
        let peers = Rc::<Peers>::default();
        let small =
            Params { message_slots: 2, send_slots: 8, rdma_ops: 0, rdma_slots: 0, ..Params::example() };
        // The peers are never the first to ask.
        let config = |interval| {
            let keepalive = Keepalive { interval, answer_timeout: Duration::from_secs(5) };
            Config::try_from(Params { keepalive: Some(keepalive), ..small.clone() }).unwrap()
        };
        let (ours, theirs) = (config(INTERVAL), config(100 * INTERVAL));
        let mut engine = Many::new(Rc::clone(&peers)).unwrap();
        engine.busy_poll_for(busy_poll_micros);
        let keys = (0..CONNECTIONS).map(|_| {
            let end = peers.connect(&theirs);
            let endpoint = Endpoint::new(Role::Acceptor, &ours, peers.wires.now());
            engine.add(endpoint, end, Program::default()).unwrap()
        });
        let keys = keys.collect();
        let mut crowd = Self { engine, peers, keys };
        crowd.pass(Duration::from_secs(1));
        crowd
    }

    /// Drives the engine for so long.
    fn pass(&mut self, time: Duration) {
        let until = self.peers.wires.now().saturating_add(time);
        while self.peers.wires.now() < until {
            self.engine.poll(Some(until)).unwrap();
        }
        // What came with the last moment.
        for _ in 0..3 {
            self.engine.poll(Some(until)).unwrap();
        }
    }

    fn idle(&self) -> impl Iterator<Item = (&Endpoint, &End, &Program)> {
        let idle = self.keys.iter().enumerate().filter(|(wire, _)| wire % BUSY_EVERY != 0);
        idle.map(|(_, key)| self.engine.get(*key).unwrap())
    }

    fn looks_at_idle(&self) -> Vec<u32> {
        self.idle().map(|(_, end, _)| end.looks()).collect()
    }

    /// Each busy connection is asked, and asked again for each answer.
    fn traffic(&mut self) {
        for wire in (0..CONNECTIONS).step_by(BUSY_EVERY) {
            self.peers.with(wire, |peer| {
                peer.program.to_ask = Some(QUESTIONS);
                peer.program.ask(&mut peer.endpoint, &peer.end);
            });
        }
        self.pass(Duration::from_secs(1));
    }

    /// All end, half of them by their peers. The reasons on this side, by the number of the connection.
    fn end(mut self) -> Vec<Option<CloseReason>> {
        let now = self.peers.wires.now();
        let how = Close::Flush { until: now.saturating_add(Duration::from_secs(1)) };
        for (wire, key) in self.keys.iter().enumerate() {
            if wire.is_multiple_of(2) {
                self.engine.get_mut(*key).unwrap().0.close(now, how);
            } else {
                self.peers.with(wire, |peer| peer.endpoint.close(now, how));
            }
        }
        let mut reasons = vec![None; CONNECTIONS];
        while !self.engine.is_empty() {
            self.engine.poll(None).unwrap();
            while let Some(finished) = self.engine.finished() {
                finished.result.unwrap();
                assert!(finished.upper.is_drained);
                reasons[finished.end.wire()] = finished.upper.closed;
            }
        }
        assert_eq!(self.engine.deadline(), None, "no deadline is left of anybody");
        self.engine.poll(Some(now.saturating_add(Duration::from_secs(2)))).unwrap();
        assert!(self.peers.all(|peer| peer.program.is_drained));
        reasons
    }
}

fn a_life(busy_poll_micros: u64) {
    let mut crowd = Crowd::new(busy_poll_micros);
    assert!(crowd.idle().all(|(_, _, program)| program.is_established));

    let before = crowd.looks_at_idle();
    crowd.traffic();
    assert!(crowd.looks_at_idle() == before, "an idle connection was looked at for the messages of others");
    for wire in (0..CONNECTIONS).step_by(BUSY_EVERY) {
        assert_eq!(crowd.engine.get(crowd.keys[wire]).unwrap().2.messages, QUESTIONS);
        assert_eq!(crowd.peers.with(wire, |peer| peer.program.messages), QUESTIONS);
    }

    for round in 1..=2 {
        let before = crowd.looks_at_idle();
        crowd.pass(INTERVAL);
        for ((endpoint, end, program), before) in crowd.idle().zip(before) {
            let stats = endpoint.connection().stats();
            assert_eq!((stats.sent.keepalives, program.closed), (round, None));
            let looks = end.looks() - before;
            assert!((1..=LOOKS_FOR_A_KEEPALIVE).contains(&looks), "{looks} looks for a keepalive");
        }
        assert!(crowd.peers.all(|peer| peer.program.closed.is_none()));
    }

    let reasons = crowd.end();
    for (wire, reason) in reasons.into_iter().enumerate() {
        let by_peer = wire % 2 == 1;
        assert_eq!(reason, Some(if by_peer { CloseReason::PeerClosed } else { CloseReason::Local }));
    }
}

#[test]
fn of_ten_thousand_connections_a_hundred_are_busy_and_nothing_of_the_others_is_touched_but_for_their_keepalives()
 {
    a_life(0);
}

#[test]
fn that_is_so_as_well_for_an_engine_that_looks_for_completions_before_it_waits() {
    a_life(50);
}
