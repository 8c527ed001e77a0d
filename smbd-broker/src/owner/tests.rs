use smbd_core::{BufferDescriptorV1, Token};

use super::{BrokerError, Calls, Connection, Happened, News, SendError, Slots, TransferError};
use crate::wire::{
    Age, Answer, Area, Call, Command, Direction, Event, Limits, Memory, Messages, Notice, PIECE_MAX, Packet,
    Refusal, Reply, Request, Transfer,
};

const LIMITS: Limits = Limits {
    slot_len: 4096,
    slots_max: 8,
    sends_max: 2,
    send_bytes_max: 100,
    receive_bytes_max: 100,
    transfers_max: 2,
};

fn connection() -> Connection {
    Connection::new(LIMITS, 200_000, 10_000)
}

fn told(events: &[Event<'_>]) -> Packet {
    let mut packet = Packet::new();
    for event in events {
        event.write(&mut packet);
    }
    packet
}

fn transfer(areas: &[(u16, u32)]) -> Transfer {
    let areas = areas.iter().map(|(slot, len)| Area { slot: *slot, len: *len }).collect();
    let remote = vec![BufferDescriptorV1 { offset: 0, token: Token(1), length: 1 << 20 }];
    Transfer { direction: Direction::Write, offset: 0, remote, areas }
}

fn slots(count: u16) -> Slots {
    let mut slots = Slots::new(4096);
    slots.add(Memory { first: 0, count, total: count });
    slots
}

#[test]
fn slots_are_taken_for_a_length_and_all_or_none() {
    let mut slots = slots(3);
    assert_eq!(slots.take(0), None);
    assert_eq!(slots.take(3 * 4096 + 1), None);
    let taken = slots.take(4097).unwrap();
    assert_eq!(taken, [Area { slot: 0, len: 4096 }, Area { slot: 1, len: 1 }]);
    assert_eq!((slots.take(4097), slots.free()), (None, 1));
    slots.add(Memory { first: 3, count: 1, total: 4 });
    let others = slots.take(8192).unwrap();
    assert!(others.iter().all(|area| area.slot >= 2), "{others:?}");
    slots.give(&taken);
    slots.give(&others);
    assert_eq!((slots.free(), slots.total()), (4, 4));
}

#[test]
fn each_call_has_one_answer_and_an_answer_to_nothing_is_refused() {
    let mut calls = Calls::new();
    let (tag, packet) = calls.call(Call::Listen { is_on: true });
    let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
    assert_eq!(Request::parse(&message), Ok(Request { tag, call: Call::Listen { is_on: true } }));
    let mut answer = Packet::new();
    Answer { tag, result: Err(Refusal::Taken) }.write(&mut answer);
    Notice::Moved { connection: 3 }.write(&mut answer);
    let news = calls.received(answer.bytes()).unwrap();
    assert_eq!(news, [News::Answer { tag, result: Err(Refusal::Taken) }, News::Moved { connection: 3 }]);
    assert_eq!(calls.received(answer.bytes()), Err(BrokerError::Answer { tag }));
}

#[test]
fn a_transfer_that_the_broker_has_not_read_when_the_connection_ends_fails_before_that_is_told() {
    let mut connection = connection();
    let (first, _) = connection.start(transfer(&[(0, 1)])).unwrap();
    let (second, _) = connection.start(transfer(&[(1, 2), (2, 3)])).unwrap();
    let lost = Event::Lost { why: "why".into() };
    let packet = told(&[Event::RdmaDone { tag: first, is_success: true }, lost]);
    let done = |tag, areas: &[(u16, u32)], is_success| {
        let areas = areas.iter().map(|(slot, len)| Area { slot: *slot, len: *len }).collect();
        Happened::Done { tag, areas, is_success }
    };
    let expected = [
        done(first, &[(0, 1)], true),
        done(second, &[(1, 2), (2, 3)], false),
        Happened::Lost { why: "why".into() },
    ];
    assert_eq!(connection.received(packet.bytes()), Ok(expected.to_vec()));
    assert_eq!((connection.transfers(), connection.socket_ended()), (0, Vec::new()));
}

#[test]
fn only_what_has_a_file_descriptor_says_so() {
    let answer = |reply| News::Answer { tag: 1, result: Ok(reply) };
    assert!(answer(Reply::Memory(Memory { first: 0, count: 1, total: 1 })).has_descriptor());
    assert!(!answer(Reply::Memory(Memory { first: 0, count: 0, total: 1 })).has_descriptor());
    assert!(answer(Reply::Attached { connection: 1 }).has_descriptor());
    assert!(!answer(Reply::Done).has_descriptor());
    assert!(!News::Fault { why: String::new() }.has_descriptor());
}

#[test]
fn messages_are_cut_into_pieces_and_no_more_are_taken_than_may_wait() {
    let mut connection = connection();
    assert_eq!(connection.send(&[], None), Err(SendError::Empty));
    assert_eq!(connection.send(&[0; 200_001], None), Err(SendError::TooLong { len: 200_001, max: 200_000 }));
    let message: Vec<u8> = (0..PIECE_MAX + 1).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let packets = connection.send(&message, Some(Token(9))).unwrap();
    let mut back = Vec::new();
    for (at, packet) in packets.iter().enumerate() {
        for message in Messages::of(packet.bytes()) {
            let Ok(Command::Send { remaining, invalidate, bytes }) = Command::parse(&message.unwrap()) else {
                panic!("a piece");
            };
            back.extend_from_slice(bytes);
            assert_eq!((remaining, invalidate), if at == 0 { (1, None) } else { (0, Some(Token(9))) });
        }
    }
    assert!(back == message);
    // One message may exceed the bytes, and no other is taken before it has left.
    assert_eq!(connection.send(&[1], None), Err(SendError::Full));
    let sent = told(&[Event::Sent { count: 1 }]);
    assert_eq!(connection.received(sent.bytes()), Ok(vec![Happened::Sent { count: 1 }]));
    connection.send(&[1], None).unwrap();
    connection.send(&[1], None).unwrap();
    assert_eq!(connection.send(&[1], None), Err(SendError::Full));
    let sent = told(&[Event::Sent { count: 3 }]);
    assert_eq!(connection.received(sent.bytes()), Err(BrokerError::Sent { count: 3, waiting: 2 }));
}

#[test]
fn each_transfer_has_one_result_with_its_slots() {
    let mut connection = connection();
    let shape = |areas, descriptors| Err(TransferError::Shape { areas, descriptors });
    assert_eq!(connection.start(transfer(&[])), shape(0, 1));
    assert_eq!(connection.start(transfer(&[(0, 0)])), shape(1, 1));
    assert_eq!(connection.start(transfer(&[(0, 1); 65])), shape(65, 1));
    assert_eq!(connection.start(Transfer { remote: Vec::new(), ..transfer(&[(0, 1)]) }), shape(1, 0));
    let too_long = Err(TransferError::TooLong { len: 10_001, max: 10_000 });
    assert_eq!(connection.start(transfer(&[(0, 10_001)])), too_long);
    let (one, _) = connection.start(transfer(&[(0, 4096), (3, 1)])).unwrap();
    let (other, _) = connection.start(transfer(&[(1, 5)])).unwrap();
    assert_eq!(connection.start(transfer(&[(2, 5)])), Err(TransferError::Full));
    let done = told(&[Event::RdmaDone { tag: one, is_success: true }]);
    let areas = vec![Area { slot: 0, len: 4096 }, Area { slot: 3, len: 1 }];
    let happened = connection.received(done.bytes()).unwrap();
    assert_eq!(happened, [Happened::Done { tag: one, areas, is_success: true }]);
    assert_eq!(connection.received(done.bytes()), Err(BrokerError::Transfer { tag: one }));
    assert_eq!(connection.socket_ended(), [(other, vec![Area { slot: 1, len: 5 }])]);
    assert_eq!(connection.start(transfer(&[(0, 1)])), Err(TransferError::Lost));
}

#[test]
fn pieces_become_a_message_if_they_fit_together() {
    let piece = |age, remaining, bytes| Event::Received { age, remaining, bytes };
    let mut sound = connection();
    let packet = told(&[piece(Age::PastRequest, 2, b"ab"), piece(Age::PastRequest, 0, b"cd")]);
    let message = Happened::Message { age: Age::PastRequest, bytes: b"abcd".to_vec() };
    assert_eq!(sound.received(packet.bytes()), Ok(vec![message]));
    let wrong = Err(BrokerError::Pieces { remaining: 1, expected: 2 });
    let packet = told(&[piece(Age::New, 2, b"ab"), piece(Age::New, 1, b"cd")]);
    assert_eq!(connection().received(packet.bytes()), wrong);
    let packet = told(&[piece(Age::New, 2, b"ab"), piece(Age::PastResponse, 0, b"cd")]);
    assert_eq!(connection().received(packet.bytes()), Err(BrokerError::Pieces { remaining: 0, expected: 2 }));
    let packet = told(&[piece(Age::New, u32::MAX, b"ab")]);
    assert!(matches!(connection().received(packet.bytes()), Err(BrokerError::TooLong { .. })));
}

#[test]
fn nothing_comes_behind_the_end() {
    let mut connection = connection();
    let packet = told(&[Event::Lost { why: "over".into() }, Event::Sent { count: 0 }]);
    assert_eq!(connection.received(packet.bytes()), Err(BrokerError::AfterEnd));
    assert_eq!(connection.send(&[1], None), Err(SendError::Lost));
}
