//! Messages in a packet: how many, how long, of which kind.

use super::samples::{calls, commands, events, notices, packets};
use crate::wire::{
    Answer, Call, Command, DESCRIPTORS_MAX, Direction, Event, HEADER_LEN, Kind, Messages, Notice, PACKET_MAX,
    PIECE_MAX, Packet, Request, WireError,
};

fn errors(packet: &[u8]) -> Vec<String> {
    Messages::of(packet).filter_map(Result::err).map(|error| error.to_string()).collect()
}

#[test]
fn a_packet_without_messages_is_an_error() {
    assert_eq!(errors(&[]), ["the packet is empty"]);
    assert_eq!(Messages::of(&[]).count(), 1);
}

#[test]
fn messages_of_a_packet_are_read_in_their_order_and_begin_at_multiples_of_8() {
    let mut packet = Packet::new();
    for (tag, call) in (0..).zip(calls()) {
        Request { tag, call }.write(&mut packet);
    }
    let read: Vec<_> = Messages::of(packet.bytes())
        .map(|message| Request::parse(&message.expect("a message")).expect("a call"))
        .collect();
    let expected: Vec<_> = (0..).zip(calls()).map(|(tag, call)| Request { tag, call }).collect();
    assert_eq!(read, expected);
    let start = packet.bytes().as_ptr() as usize;
    for message in Messages::of(packet.bytes()) {
        let body = message.expect("a message").body;
        assert!(body.is_empty() || (body.as_ptr() as usize - start).is_multiple_of(8));
    }
}

#[test]
fn the_last_message_may_have_its_padding_or_a_part_of_it() {
    let mut packet = Packet::new();
    Command::Send { remaining: 0, invalidate: None, bytes: b"abc" }.write(&mut packet);
    assert_eq!(packet.bytes().len() % 8, 7);
    let mut bytes = packet.bytes().to_vec();
    for more in 0..=1 {
        assert_eq!((Messages::of(&bytes).count(), errors(&bytes).len()), (1, 0), "{more}");
        bytes.push(0);
    }
    // Behind it there is another message, which is cut.
    assert_eq!(errors(&bytes), ["Length of packet is cut: it needs 4 bytes, and the message has 1 left"]);
}

#[test]
fn a_packet_that_is_cut_gives_the_messages_before_and_one_error() {
    for (name, packet) in packets() {
        for len in 1..packet.bytes().len() {
            let cut = packet.bytes().get(..len).expect("shorter");
            assert_eq!(errors(cut).len(), 1, "{name} of {len} bytes");
            let mut two = packet.clone();
            Request { tag: 1, call: Call::Attach }.write(&mut two);
            let whole = two.bytes().len() - HEADER_LEN;
            let cut = two.bytes().get(..whole + 1 + len % (HEADER_LEN - 1)).expect("shorter");
            let read: Vec<_> = Messages::of(cut).map(|message| message.is_ok()).collect();
            assert_eq!(read, [true, false], "{name}");
        }
    }
}

#[test]
fn a_length_below_the_header_or_above_the_longest_packet_is_an_error() {
    for (len, is_value) in
        [(0, true), (15, true), (16, false), (98_304, false), (98_305, true), (u32::MAX, true)]
    {
        let mut packet = Packet::new();
        Request { tag: 1, call: Call::Attach }.write(&mut packet);
        let bytes = [&len.to_le_bytes()[..], &packet.bytes()[4..]].concat();
        let error = Messages::of(&bytes).find_map(Result::err);
        let found = matches!(error, Some(WireError::Value { field: "Length", .. }));
        assert_eq!(found, is_value, "{len}: {error:?}");
    }
}

#[test]
fn nothing_is_read_behind_an_error() {
    let bytes = [&[1, 0, 0, 0][..], &[0; 60]].concat();
    assert_eq!(Messages::of(&bytes).count(), 1);
}

#[test]
fn a_reserved_field_of_the_header_is_zero() {
    let mut packet = Packet::new();
    Request { tag: 1, call: Call::Attach }.write(&mut packet);
    let mut bytes = packet.bytes().to_vec();
    bytes[6] = 1;
    assert_eq!(errors(&bytes), ["Reserved of packet is 1: it is 0"]);
}

#[test]
fn each_side_refuses_the_kinds_of_the_others() {
    for (name, packet) in packets() {
        let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
        let area = message.kind.0 >> 8;
        assert_eq!(Request::parse(&message).is_ok(), area == 0, "{name}");
        assert_eq!(Answer::parse(&message).expect("valid").is_some(), area == 1, "{name}");
        assert_eq!(Notice::parse(&message).expect("valid").is_some(), area == 2, "{name}");
        assert_eq!(Command::parse(&message).is_ok(), area == 3, "{name}");
        assert_eq!(Event::parse(&message).is_ok(), area == 4, "{name}");
    }
    let unknown = crate::wire::Message { kind: Kind(0x0008), tag: 0, body: &[] };
    let said = [
        Request::parse(&unknown).map(|_| ()),
        Command::parse(&unknown).map(|_| ()),
        Event::parse(&unknown).map(|_| ()),
    ];
    let said = said.map(|result| result.expect_err("unknown").to_string());
    assert_eq!(
        said,
        [
            "Kind of call is 8: the kind of a call is 1 to 7",
            "Kind of command is 8: the kind of a command is 0x300 to 0x304",
            "Kind of event is 8: the kind of an event is 0x400 to 0x404",
        ]
    );
}

#[test]
fn the_longest_messages_fit_into_a_packet() {
    let mut transfer = super::samples::transfer(Direction::Read);
    transfer.remote = vec![transfer.remote[0]; DESCRIPTORS_MAX];
    transfer.areas = vec![transfer.areas[0]; crate::wire::AREAS_MAX];
    let piece = vec![1; PIECE_MAX];
    let commands =
        [Command::Rdma { tag: 1, transfer }, Command::Send { remaining: 0, invalidate: None, bytes: &piece }];
    for command in commands {
        let mut packet = Packet::new();
        assert!(packet.has_room(command.body_len()));
        command.write(&mut packet);
        assert!(packet.bytes().len() <= PACKET_MAX);
        assert!(!packet.has_room(command.body_len()));
        let message = Messages::of(packet.bytes()).next().expect("one").expect("a message");
        assert_eq!(Command::parse(&message), Ok(command));
    }
}

#[test]
fn a_body_is_as_long_as_it_says_at_most() {
    let body = |packet: &Packet| packet.bytes().len() - HEADER_LEN;
    for command in commands() {
        let mut packet = Packet::new();
        command.write(&mut packet);
        assert_eq!(body(&packet), command.body_len(), "{command:?}");
    }
    for event in events() {
        let mut packet = Packet::new();
        event.write(&mut packet);
        assert!((body(&packet)..=body(&packet) + 2).contains(&event.body_len()), "{event:?}");
    }
}

#[test]
fn a_packet_has_room_up_to_its_longest() {
    let mut packet = Packet::new();
    assert!(packet.is_empty() && packet.has_room(PACKET_MAX - HEADER_LEN));
    assert!(!packet.has_room(PACKET_MAX - HEADER_LEN + 1));
    assert!(!packet.has_room(usize::MAX));
    for notice in notices() {
        notice.write(&mut packet);
    }
    assert!(!packet.is_empty());
    let left = PACKET_MAX - packet.bytes().len().next_multiple_of(8) - HEADER_LEN;
    assert!(packet.has_room(left) && !packet.has_room(left + 1));
}
