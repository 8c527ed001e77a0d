//! The operations that are measured, each as a scene: two sides with a device each, of which the calls of one are measured. What one
//! device has sent is carried to the other one outside of that.

pub mod busy;
mod device;
mod hardware;
mod idle;
pub mod measured;
mod poller;
mod side;

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::wire::DATA_OFFSET;
use smbd_core::{BufferDescriptorV1, Endpoint, Params, RdmaVerb, Token};
use smbd_repository::instructions::{Operation, Work};

use device::carry;
use hardware::Message;
use side::{Side, settle};

/// Messages that a stream has under way.
const BATCH: u32 = 16;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("ping_pong", "a message of 64 bytes came, and is answered: a turn", ping_pong).goal(1200),
    Operation::new("answer", "of it, from the poll that has the message to the post of the answer", ping_pong)
        .part("*hardware::Hardware::poll", "*hardware::Hardware::post_send"),
    Operation::new("sent_1364", "a message of 1364 bytes in a stream, sent", sent::<1364>)
        .goal(200)
        .between(BATCH, 65 * BATCH),
    Operation::new("received_1364", "the same, received", received::<1364>)
        .goal(350)
        .between(BATCH, 65 * BATCH),
    Operation::new("sent_8192", "a message of 8192 bytes in a stream, sent", sent::<8192>)
        .goal(200)
        .between(BATCH, 65 * BATCH),
    Operation::new("received_8192", "the same, received", received::<8192>)
        .goal(350)
        .between(BATCH, 65 * BATCH),
    Operation::new("write_64k", "RDMA Write of 64 KiB in one piece, and its result", rdma::<1, false>)
        .goal(700),
    Operation::new("read_64k", "RDMA Read of 64 KiB in one piece, and its result", rdma::<1, true>).goal(700),
    Operation::new("write_8m_31", "RDMA Write of 8 MiB in 31 pieces, and its result", rdma::<31, false>),
    Operation::new("read_8m_31", "RDMA Read of 8 MiB in 31 pieces, and its result", rdma::<31, true>),
    Operation::new("register", "memory is registered, and deregistered", register),
    Operation::new("invalidated", "the same, and a message between the two that invalidates it", invalidated),
    Operation::new("idle_1", "a turn of an engine with 1 connection that is idle", idle::turns::<1>),
    Operation::new("idle_100", "with 100", idle::turns::<100>),
    Operation::new("idle_10000", "with 10,000", idle::turns::<10_000>),
    Operation::new(
        "busy_100_idle_0",
        "an engine of 100 connections to each of which a message of 64 bytes comes, and is answered: a message",
        busy::messages::<0>,
    )
    .between(busy::CONNECTIONS, 11 * busy::CONNECTIONS),
    Operation::new("busy_100_idle_100", "with 100 more that are idle", busy::messages::<100>)
        .between(busy::CONNECTIONS, 11 * busy::CONNECTIONS),
    Operation::new("busy_100_idle_10000", "with 10,000", busy::messages::<10_000>)
        .between(busy::CONNECTIONS, 11 * busy::CONNECTIONS),
];

/// The sizes of Windows.
fn params() -> Params {
    Params::windows()
}

/// Two sides whose messages are so long.
fn pair(size: u32) -> (Side<Endpoint>, Side<Endpoint>) {
    Side::pair(&Params { max_send_size: size, large_sends: true, max_receive_size: size, ..params() })
}

fn ping_pong(count: u32) -> Work {
    let (mut one, mut other) = Side::pair(&params());
    (one.program.answers, other.program.answers) = (true, true);
    one.machine.send(device::NOW, Bytes::from_static(&[0; 64]), None).expect("room for a message");
    one.turn();
    Box::new(move || {
        for _ in 0..count {
            carry(&mut one.device, &mut other.device);
            other.turn();
            carry(&mut other.device, &mut one.device);
            measured::turn(&mut one);
        }
        assert_eq!(one.program.messages, u64::from(count), "all came back");
        Box::new((one, other))
    })
}

/// A message that fills a work request, without its header.
fn payload(size: u32) -> Bytes {
    Bytes::from(vec![0; usize::try_from(size - DATA_OFFSET).expect("a length")])
}

fn sent<const SIZE: u32>(count: u32) -> Work {
    let (mut one, mut other) = pair(SIZE);
    let payload = payload(SIZE);
    Box::new(move || {
        for _ in 0..count / BATCH {
            for _ in 0..BATCH {
                measured::send(&mut one, payload.clone());
            }
            measured::turn(&mut one);
            carry(&mut one.device, &mut other.device);
            other.turn();
            carry(&mut other.device, &mut one.device);
        }
        assert_eq!(other.program.messages, u64::from(count), "all have come");
        Box::new((one, other))
    })
}

fn received<const SIZE: u32>(count: u32) -> Work {
    let (mut one, mut other) = pair(SIZE);
    let payload = payload(SIZE);
    Box::new(move || {
        for _ in 0..count / BATCH {
            for _ in 0..BATCH {
                one.machine.send(device::NOW, payload.clone(), None).expect("room for a message");
            }
            one.turn();
            carry(&mut one.device, &mut other.device);
            measured::turn(&mut other);
            carry(&mut other.device, &mut one.device);
        }
        assert_eq!(other.program.messages, u64::from(count), "all have come");
        Box::new((one, other))
    })
}

fn rdma<const PIECES: u32, const READS: bool>(count: u32) -> Work {
    let (mut one, _) = Side::pair(&params());
    let len = if PIECES == 1 { 64 << 10 } else { 8 << 20 };
    let verb = if READS { RdmaVerb::Read } else { RdmaVerb::Write };
    let piece = len / PIECES;
    let remote: Arc<[_]> = (0..PIECES)
        .map(|index| {
            let length = if index + 1 == PIECES { len - piece * index } else { piece };
            BufferDescriptorV1 { offset: u64::from(piece * index), token: Token(index), length }
        })
        .collect();
    Box::new(move || {
        for _ in 0..count {
            measured::rdma(&mut one, verb, len, Arc::clone(&remote));
            measured::turn(&mut one);
        }
        assert_eq!(one.program.results, u64::from(count), "all are done");
        Box::new(one)
    })
}

fn register(count: u32) -> Work {
    let (mut one, _) = Side::pair(&params());
    Box::new(move || {
        for _ in 0..count {
            let id = measured::register(&mut one);
            measured::turn(&mut one);
            measured::deregister(&mut one, id);
            measured::turn(&mut one);
        }
        assert_eq!(one.program.results, 2 * u64::from(count), "all are registered, and deregistered");
        Box::new(one)
    })
}

fn invalidated(count: u32) -> Work {
    let (mut one, mut other) = Side::pair(&params());
    Box::new(move || {
        for _ in 0..count {
            let id = measured::register(&mut one);
            measured::turn(&mut one);
            other.machine.send(device::NOW, Bytes::from_static(&[0; 64]), None).expect("room for a message");
            other.turn();
            let invalidate = Some(one.device.token());
            for message in other.device.sent().drain(..) {
                one.device.arrive(Message { invalidate, ..message });
            }
            measured::turn(&mut one);
            measured::deregister(&mut one, id);
            measured::turn(&mut one);
            settle(&mut one, &mut other);
        }
        assert_eq!(one.program.messages, u64::from(count), "all have come");
        assert_eq!(one.program.results, 2 * u64::from(count), "all are registered, and deregistered");
        Box::new((one, other))
    })
}
