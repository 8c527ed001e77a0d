//! Why each connection has receives of its own: what a queue that several share would let one peer do to others.
//!
//! A credit is a receive that is posted for the peer that was granted it (3.1.5.9). With a queue of its own that is so whatever others
//! do. A shared queue gives its next receive to whoever sends, granted or not, and the host sees that only afterwards.

use smbd_core::error::WorkError;
use smbd_core::{Config, Head, Params, RecvId, WrId};
use smbd_sim::memory::DomainId;
use smbd_sim::nic::{Body, Nic, NicConfig, Operation, Personality, Reply, Response, SendWork};

/// Credits that each peer was granted.
const CREDITS: u64 = 4;
const PLACES: u32 = 1024;

/// A connection as its device has it: this side's queue pair and the peer's.
struct Connection {
    own: Nic,
    peer: Nic,
    sent: u64,
}

impl Connection {
    fn new(personality: Personality, number: u32) -> Self {
        let budget = Config::try_from(Params::example()).unwrap().budget();
        let nic = |domain| {
            // Room for all receives of a shared queue.
            let config = NicConfig {
                send_queue: PLACES,
                send_cq: PLACES,
                recv_queue: PLACES,
                recv_cq: PLACES,
                recv_slots: PLACES,
                ..NicConfig::of(personality, &budget)
            };
            let mut nic = Nic::new(config, DomainId(domain));
            nic.establish(4);
            nic
        };
        Self { own: nic(2 * number), peer: nic(2 * number + 1), sent: 0 }
    }

    /// The peer sends one message. How its send ended, if that is known.
    fn send(&mut self) -> Option<Result<(), WorkError>> {
        self.sent += 1;
        let operation = Operation::Send { head: Head::of(b"a message"), body: Body::None, invalidate: None };
        let mut work = SendWork { id: id(2, self.sent), operation, signal: true };
        let packet = self.peer.post_send(&mut work).unwrap()?;
        let response = self.own.receive(&packet, &mut self.peer);
        self.peer.take_back(packet);
        if let Response::Reply(reply) | Response::Terminated(reply) = response {
            if let Reply::Terminate { error, .. } = reply {
                self.peer.reply(reply, &mut self.own);
                return Some(Err(error));
            }
            self.peer.reply(reply, &mut self.own);
        }
        while self.peer.poll_send().is_some() {}
        self.peer.reap();
        std::iter::from_fn(|| self.peer.next_outcome()).last().map(|done| done.result)
    }
}

fn id(kind: u64, number: u64) -> WrId {
    WrId::from_raw(kind << 56 | number).unwrap()
}

fn receive(number: u64) -> RecvId {
    match id(1, number) {
        WrId::Recv(id) => id,
        WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => unreachable!("kind 1 is a receive"),
    }
}

/// Receives that a device takes from the same queue for all its connections, as one made by `ibv_create_srq`: a message takes the
/// oldest one when it arrives, for whichever queue pair it comes.
struct SharedQueue(Vec<RecvId>);

impl SharedQueue {
    fn new(receives: u64) -> Self {
        Self((0..receives).rev().map(receive).collect())
    }

    fn send(&mut self, connection: &mut Connection) -> Option<Result<(), WorkError>> {
        if let Some(id) = self.0.pop() {
            connection.own.post_recv(id, 64).unwrap();
        }
        connection.send()
    }
}

/// A peer with credits, and one that has sent more than its own at once, before this side has looked.
fn pair(personality: Personality) -> (Connection, Connection) {
    (Connection::new(personality, 1), Connection::new(personality, 2))
}

const ALL: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

#[test]
fn with_a_queue_of_its_own_a_peer_that_sends_without_credits_ends_its_own_connection_only() {
    for personality in ALL {
        let (mut honest, mut hostile) = pair(personality);
        for connection in [&mut honest, &mut hostile] {
            (0..CREDITS).for_each(|number| connection.own.post_recv(receive(number), 64).unwrap());
        }
        let results: Vec<_> = (0..=CREDITS).map(|_| hostile.send()).collect();
        assert_eq!(results.last(), Some(&Some(Err(WorkError::ReceiverNotReady))), "{personality:?}");
        for _ in 0..CREDITS {
            assert_eq!(honest.send(), Some(Ok(())), "{personality:?}");
        }
        assert_eq!(honest.own.recv_completions(), CREDITS as usize);
    }
}

#[test]
fn with_a_shared_queue_it_takes_what_another_peer_was_granted_and_ends_that_connection() {
    for personality in ALL {
        let (mut honest, mut hostile) = pair(personality);
        // As many as both were granted: nothing is promised twice.
        let mut shared = SharedQueue::new(2 * CREDITS);
        for _ in 0..2 * CREDITS {
            assert_eq!(shared.send(&mut hostile), Some(Ok(())), "the device does not know whose they are");
        }
        // Its first message, with a credit that it was granted.
        assert_eq!(shared.send(&mut honest), Some(Err(WorkError::ReceiverNotReady)), "{personality:?}");
        assert_eq!(honest.own.recv_completions(), 0);
    }
}

#[test]
fn with_a_shared_queue_more_for_each_peer_only_moves_what_it_takes_to_starve_all() {
    let peers = 100;
    let (mut honest, mut hostile) = pair(Personality::Roce);
    let mut shared = SharedQueue::new(peers * CREDITS);
    // One device sends them in microseconds, faster than any host polls.
    let burst = (0..peers * CREDITS).filter(|_| shared.send(&mut hostile) == Some(Ok(()))).count();
    assert_eq!(burst as u64, peers * CREDITS);
    assert_eq!(shared.send(&mut honest), Some(Err(WorkError::ReceiverNotReady)));
}
