//! The operations that are measured, each as a scene: all is prepared, then the measured calls are made.

mod driven;
pub mod measured;
mod pair;

use std::hint::black_box;
use std::sync::Arc;

use smbd_core::wire::{DATA_OFFSET, DataTransfer, Flags};
use smbd_core::{
    Action, BufferDescriptorV1, Connection, Event, Fragment, Input, Params, RdmaId, RdmaVerb, Token,
};

use smbd_repository::instructions::{Operation, Work};

use pair::{Calls, NOW, Pair, Side};

pub const OPERATIONS: &[Operation] = &[
    Operation::new("decode", "a data header of 24 bytes is read", decode).goal(40),
    Operation::new("encode", "a data header of 24 bytes is written", encode).goal(25),
    Operation::new("receive", "a fragment: Received, and its event", receive).goal(150),
    Operation::new("release", "a fragment is released, and its receive posted again", release),
    Operation::new("send_fragment", "one more fragment of a message", send_fragment)
        .goal(100)
        .between(1, 128),
    Operation::new("sent", "the completion of a fragment", sent),
    Operation::new(
        "send_message",
        "a message of one fragment: send, its post, Sent, its event",
        send_message,
    ),
    Operation::new(
        "post_message",
        "an idle connection: the action that posts a message of one fragment",
        post_message,
    )
    .goal(180),
    Operation::new("post_queued", "the same, of one more message in the queue", post_queued).between(2, 128),
    Operation::new("empty_grant", "a message that only grants credits", empty_grant),
    Operation::new("wait", "nothing to do: the end of every drain", wait),
    Operation::new("connect", "both sides, from the first action to all credits granted", connect)
        .between(0, 1),
    Operation::new("rdma_1", "1 MiB of RDMA Write in one request: the request and its end", rdma::<1>)
        .between(0, 1),
    Operation::new("rdma_31", "one request of 31", rdma::<31>).between(0, 31),
    Operation::new("rdma_4095", "one request of 4095", rdma::<4095>).between(0, 4095),
    Operation::new(
        "drive_message",
        "a message of one fragment: send, then `drive` until the event is reported",
        driven::connection_messages,
    ),
    Operation::new("endpoint_message", "the same, with an `Endpoint`", driven::endpoint_messages),
    Operation::new(
        "drive_fragment",
        "one more fragment of a message, and its completion",
        driven::connection_fragments,
    )
    .between(1, 128),
    Operation::new("endpoint_fragment", "the same, with an `Endpoint`", driven::endpoint_fragments)
        .between(1, 128),
];

/// The sizes of Windows, with places for everything at once.
fn params() -> Params {
    Params { rdma_slots: 4096, ..Params::windows() }
}

/// Payload of one full message with them.
const PAYLOAD: u32 = 1364 - DATA_OFFSET;

const HEADER: DataTransfer = DataTransfer {
    credits_requested: 255,
    credits_granted: 1,
    flags: Flags::NONE,
    remaining_data_length: 4096,
    data_offset: DATA_OFFSET,
    data_length: PAYLOAD,
};

fn decode(count: u32) -> Work {
    let mut bytes = [0; 32];
    HEADER.encode(&mut bytes).expect("room for a header");
    Box::new(move || {
        for _ in 0..count {
            black_box(measured::decode(black_box(&bytes))).expect("a whole header");
        }
        Box::new(())
    })
}

fn encode(count: u32) -> Work {
    let mut bytes = [0; 32];
    Box::new(move || {
        for _ in 0..count {
            black_box(measured::encode(black_box(&HEADER), black_box(&mut bytes)))
                .expect("room for a header");
        }
        Box::new(())
    })
}

/// A pair, and `count` fragments of one message on the way to the acceptor.
fn fragments_on_the_way(count: u32) -> Pair {
    let mut pair = Pair::established(&params());
    let len = PAYLOAD * count;
    pair.initiator.connection.send(NOW, len, None).expect("room for a message");
    pair.initiator.poll_sends(count);
    pair
}

fn arrivals(pair: &mut Pair) -> Vec<Input<'static>> {
    let Pair { initiator, acceptor } = pair;
    initiator.sent.iter().map(|message| acceptor.arrival(*message)).collect()
}

fn take_fragment(action: Action) -> Fragment {
    let Action::Notify(Event::Data(fragment)) = action else { panic!("{action:?} is no fragment") };
    fragment
}

fn receive(count: u32) -> Work {
    let mut pair = fragments_on_the_way(count);
    let arrivals = arrivals(&mut pair);
    Box::new(move || {
        for arrival in arrivals {
            measured::handle(&mut pair.acceptor.connection, NOW, arrival).expect("a posted receive");
            drop(black_box(measured::poll(&mut pair.acceptor.connection)));
        }
        Box::new(pair)
    })
}

fn release(count: u32) -> Work {
    let mut pair = fragments_on_the_way(count);
    let mut fragments = Vec::new();
    for arrival in arrivals(&mut pair) {
        let connection = &mut pair.acceptor.connection;
        connection.handle(NOW, arrival).expect("a posted receive");
        fragments.push(take_fragment(connection.poll_action()));
    }
    // What is in reserve is posted before what comes back.
    pair.acceptor.drain(Connection::poll_action);
    Box::new(move || {
        let connection = &mut pair.acceptor.connection;
        for fragment in fragments {
            measured::release(connection, fragment).expect("own fragment");
            drop(black_box(measured::poll(connection)));
        }
        Box::new(pair)
    })
}

fn send_fragment(count: u32) -> Work {
    let mut pair = Pair::established(&params());
    let len = PAYLOAD * count;
    Box::new(move || {
        let connection = &mut pair.initiator.connection;
        measured::send(connection, NOW, len);
        for _ in 0..count {
            drop(black_box(measured::poll(connection)));
        }
        Box::new(pair)
    })
}

fn sent(count: u32) -> Work {
    // One more, so that the measured ones are not the end of the message.
    let mut pair = fragments_on_the_way(count + 1);
    let sends: Vec<_> = pair.initiator.sent.iter().map(|message| message.id).take(count as usize).collect();
    Box::new(move || {
        for id in sends {
            measured::handle(&mut pair.initiator.connection, NOW, Input::Sent { id }).expect("a posted send");
        }
        Box::new(pair)
    })
}

fn send_message(count: u32) -> Work {
    let mut pair = Pair::established(&params());
    Box::new(move || {
        let connection = &mut pair.initiator.connection;
        for _ in 0..count {
            measured::send(connection, NOW, 256);
            let Action::PostSend { id, .. } = measured::poll(connection) else { panic!("a send is due") };
            measured::handle(connection, NOW, Input::Sent { id }).expect("a posted send");
            drop(black_box(measured::poll(connection)));
        }
        Box::new(pair)
    })
}

fn post_message(count: u32) -> Work {
    let mut pair = Pair::established(&params());
    Box::new(move || {
        let connection = &mut pair.initiator.connection;
        for _ in 0..count {
            connection.send(NOW, 256, None).expect("room for a message");
            let Action::PostSend { id, .. } = measured::poll(connection) else { panic!("a send is due") };
            connection.handle(NOW, Input::Sent { id }).expect("a posted send");
            while !matches!(connection.poll_action(), Action::Wait(_)) {}
        }
        Box::new(pair)
    })
}

fn post_queued(count: u32) -> Work {
    let mut pair = Pair::established(&params());
    Box::new(move || {
        let connection = &mut pair.initiator.connection;
        for _ in 0..count {
            connection.send(NOW, 256, None).expect("room for a message");
        }
        for _ in 0..count {
            drop(black_box(measured::poll(connection)));
        }
        Box::new(pair)
    })
}

fn empty_grant(count: u32) -> Work {
    let about_to_grant = || {
        let mut pair = fragments_on_the_way(128);
        for arrival in arrivals(&mut pair) {
            let connection = &mut pair.acceptor.connection;
            connection.handle(NOW, arrival).expect("a posted receive");
            let fragment = take_fragment(connection.poll_action());
            connection.release(NOW, fragment).expect("own fragment");
        }
        post_receives(pair.acceptor)
    };
    let mut connections: Vec<_> = (0..count).map(|_| about_to_grant()).collect();
    Box::new(move || {
        for connection in &mut connections {
            drop(black_box(measured::poll(connection)));
        }
        Box::new(connections)
    })
}

/// The connection when all receives are posted again and the grant of them comes next.
fn post_receives(side: Side) -> Connection {
    let mut connection = side.connection;
    loop {
        let before = connection.clone();
        let action = connection.poll_action();
        if matches!(action, Action::PostSend { body: None, .. }) {
            return before;
        }
        assert!(matches!(action, Action::PostRecv { .. }), "{action:?} before the grant");
    }
}

fn wait(count: u32) -> Work {
    let mut pair = Pair::established(&params());
    Box::new(move || {
        for _ in 0..count {
            // Too early, so nothing comes of it, but it has to find that out.
            pair.initiator.connection.handle(NOW, Input::Timeout).expect("at any time");
            drop(black_box(measured::poll(&mut pair.initiator.connection)));
        }
        Box::new(pair)
    })
}

fn connect(count: u32) -> Work {
    let mut pairs: Vec<_> = (0..count).map(|_| Pair::new(&params())).collect();
    Box::new(move || {
        for pair in &mut pairs {
            pair.connect(Calls { handle: measured::handle, poll: measured::poll });
        }
        Box::new(pairs)
    })
}

fn rdma<const SLICES: u32>(count: u32) -> Work {
    const LEN: u32 = 1 << 20;
    let mut pair = Pair::established(&params());
    let piece = LEN / SLICES;
    let remote: Arc<[_]> = (0..SLICES)
        .map(|index| {
            let length = if index + 1 == SLICES { LEN - piece * index } else { piece };
            BufferDescriptorV1 { offset: u64::from(piece * index), token: Token(index), length }
        })
        .collect();
    let connection = &mut pair.initiator.connection;
    connection.rdma(NOW, RdmaVerb::Write, LEN, remote, 0).expect("room for an operation");
    Box::new(move || {
        let connection = &mut pair.initiator.connection;
        let mut posted: Vec<RdmaId> = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let Action::PostRdma { id, .. } = measured::poll(connection) else { panic!("a request is due") };
            posted.push(id);
        }
        for id in posted {
            measured::handle(connection, NOW, Input::RdmaDone { id }).expect("a posted request");
        }
        Box::new(pair)
    })
}
