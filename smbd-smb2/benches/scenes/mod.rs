//! What is measured: messages through a relay, whose driver does what `smbd-gateway` does.

mod measured;
mod messages;

use std::collections::VecDeque;

use smbd_repository::instructions::{Operation, Work};
use smbd_smb2::relay::{Action, Arrived, ClientBytes, Config, Event, Params, Relay, Room, Source, Transfer};

use messages::{Exchange, plain, read, signed, write};

/// Both rewritten messages together are to take no more.
const GOAL: u32 = 1500;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("read", "a READ of 64 KiB with a channel, and its answer", |count| play(count, read))
        .goal(GOAL),
    Operation::new("write", "a WRITE of 64 KiB with a channel, and its answer", |count| play(count, write))
        .goal(GOAL),
    Operation::new("read_17", "a READ with 17 descriptors, and its answer", |count| play(count, read_17)),
    Operation::new("plain", "a CLOSE that passes, and an answer", |count| play(count, plain)),
    Operation::new("signed", "a signed WRITE of 4 KiB that passes, and its answer", |count| {
        play(count, signed)
    }),
];

fn read_17(id: u64) -> Exchange {
    messages::read_of(id, 17)
}

/// What arrives with the header of an answer; the rest of its data goes straight into a buffer.
const TOGETHER: usize = 4096;

fn play(count: u32, exchange: fn(u64) -> Exchange) -> Work {
    let exchanges: Vec<_> = (0..u64::from(count)).map(exchange).collect();
    let config = Config::new(&Params::default()).expect("valid parameters");
    let mut gateway = Gateway { relay: Relay::new(&config), running: VecDeque::new(), passed: 0 };
    Box::new(move || {
        for exchange in &exchanges {
            gateway.request(&exchange.request);
            gateway.answer(exchange);
            assert_eq!(gateway.passed, exchange.passed, "all of it");
            gateway.passed = 0;
        }
        Box::new((gateway, exchanges))
    })
}

/// A driver whose both sides take everything at once.
struct Gateway {
    relay: Relay,
    running: VecDeque<Transfer>,
    /// Bytes that have left.
    passed: usize,
}

impl Gateway {
    fn request(&mut self, message: &[u8]) {
        let client = ClientBytes { bytes: message, remaining: 0 };
        self.run(&mut Arrived { client, server: &[] });
        // The ends of RDMA Reads.
        while self.end_one() {
            self.run(&mut Arrived::default());
        }
    }

    fn answer(&mut self, exchange: &Exchange) {
        let (together, mut behind) = (TOGETHER.min(exchange.answer.len()), exchange.behind);
        self.run(&mut Arrived { server: &exchange.answer[..together], ..Arrived::default() });
        while behind > 0 {
            let place = measured::placement(&mut self.relay).expect("a place for what follows");
            let len = place.len.min(behind);
            behind -= len;
            measured::handle(&mut self.relay, Event::Placed { buffer: place.buffer, len }).expect("as said");
            self.run(&mut Arrived::default());
        }
        while self.end_one() {}
    }

    fn end_one(&mut self) -> bool {
        let Some(transfer) = self.running.pop_front() else { return false };
        let done = Event::RdmaDone { buffer: transfer.buffer, is_success: true };
        measured::handle(&mut self.relay, done).expect("an operation that runs");
        measured::drop_transfer(transfer);
        true
    }

    fn run(&mut self, arrived: &mut Arrived<'_>) {
        let room = Room { client: 1 << 20, server: 1 << 20 };
        loop {
            let sent = match measured::poll(&mut self.relay, arrived, room) {
                Action::ToServer(Source::Bytes(bytes)) => {
                    self.passed += bytes.len();
                    continue;
                }
                Action::ToClient { write, bytes, .. } => {
                    self.passed += bytes.len() + write.as_ref().map_or(0, |write| write.len as usize);
                    self.running.extend(write);
                    continue;
                }
                Action::ToServer(Source::Buffer { head, buffer, len, .. }) => {
                    self.passed += head.len();
                    Event::Sent { buffer, len }
                }
                Action::RdmaRead(transfer) | Action::RdmaWrite(transfer) => {
                    self.passed += transfer.len as usize;
                    self.running.push_back(transfer);
                    continue;
                }
                Action::Store { .. } => continue,
                Action::Idle(_) => return,
                Action::Close(reason) => panic!("{reason}"),
            };
            measured::handle(&mut self.relay, sent).expect("a buffer that was sent");
        }
    }
}
