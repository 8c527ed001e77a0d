//! Owners that are killed, do wrong, or say too much.

use super::rig::{Rig, SLOT_LEN, negotiate, setup, transfer};
use crate::broker::{Log, Reason, TransferId};
use crate::wire::{Call, Command, Packet, Request};

fn reason(rig: &Rig) -> String {
    let ends = rig.logs.iter().rev().find_map(|log| match log {
        Log::Ends { reason, .. } => Some(reason.to_string()),
        _ => None,
    });
    ends.expect("a connection ends")
}

#[test]
fn slots_of_a_killed_owner_are_freed_when_the_device_is_done_with_all_of_them() {
    let mut rig = Rig::new();
    let owner = rig.acceptor(3);
    let (first, second) = (rig.settled(), rig.settled());
    rig.transfer(first, 1, &[0, 2]);
    rig.transfer(second, 2, &[1]);
    let memory = rig.broker.memory();
    assert_eq!(memory, 3 * u64::from(SLOT_LEN));
    rig.broker.owner_left(owner);
    assert_eq!(rig.did(), ["c1 disconnect 0", "c2 disconnect 0"]);
    rig.done(first, 1);
    assert_eq!((rig.broker.memory(), rig.broker.owners()), (memory, 1));
    rig.broker.transfer_done(second, TransferId(2), false);
    assert!(rig.did().contains(&"1 free".to_owned()));
    assert_eq!((rig.broker.memory(), rig.broker.owners()), (0, 0));
}

#[test]
fn memory_that_is_made_for_an_owner_that_left_is_freed_at_once() {
    for is_made in [false, true] {
        let mut rig = Rig::new();
        let owner = rig.owner();
        assert_eq!(rig.call(owner, Call::GetMemParams { slots: 2 }), ["1 make 0+2"]);
        rig.broker.owner_left(owner);
        assert_eq!(rig.did(), [""; 0]);
        rig.broker.memory_made(owner, is_made);
        assert_eq!(rig.did(), ["1 free"]);
        assert_eq!((rig.broker.memory(), rig.broker.owners()), (0, 0));
    }
}

#[test]
fn a_slot_is_the_owners_again_only_when_its_transfer_has_ended() {
    let mut rig = Rig::new();
    rig.acceptor(2);
    let client = rig.settled();
    assert_eq!(rig.transfer(client, 7, &[1]), ["c1 transfer 1 of 1 [1]"]);
    assert_eq!(rig.done(client, 1), ["c1 <- rdma 7 true"]);
    // Once.
    assert_eq!(rig.done(client, 1), [""; 0]);
    assert_eq!(rig.transfer(client, 8, &[1, 0]), ["c1 transfer 2 of 1 [1, 0]"]);
    assert_eq!(rig.transfer(client, 9, &[0]), ["c1 disconnect 0"]);
    assert_eq!(reason(&rig), "its owner names slot 0, which is used by a transfer");
}

#[test]
fn slots_of_a_transfer_that_is_refused_stay_the_owners() {
    let mut rig = Rig::new();
    rig.acceptor(2);
    let (first, second) = (rig.settled(), rig.settled());
    // The second slot is not there, or is the first again.
    assert_eq!(rig.transfer(first, 1, &[0, 2]), ["c1 disconnect 0"]);
    assert_eq!(rig.transfer(second, 2, &[0, 1]), ["c2 transfer 2 of 1 [0, 1]"]);
    assert_eq!(reason(&rig), "its owner names slot 2, which is not there");
}

#[test]
fn a_transfer_names_a_slot_once_and_no_more_of_it_than_there_is() {
    for (command, expected) in [
        (transfer(&[0, 0], 1), "its owner names slot 0, which is used by a transfer"),
        (transfer(&[0], SLOT_LEN + 1), "its owner names 4097 bytes of a slot of 4096"),
        (
            transfer(&[0], (1 << 20) + 1),
            "its owner wants to move 1048577 bytes, and MaxReadWriteSize is 1048576 (MS-SMBD 3.1.1.1)",
        ),
    ] {
        let mut rig = Rig::new();
        rig.acceptor(2);
        let client = rig.settled();
        let did = rig.order(client, &[Command::Rdma { tag: 1, transfer: command }]);
        assert_eq!((did, reason(&rig).as_str()), (vec!["c1 disconnect 0".to_owned()], expected));
    }
}

#[test]
fn a_wrong_packet_of_an_owner_ends_its_socket_and_what_it_has_and_nothing_else() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let kept = rig.settled();
    let bad = rig.owner();
    rig.hold_session(bad, 5);
    let client = rig.client();
    rig.say(client, "setup", setup(5));
    let mut packet = Packet::new();
    Request { tag: 50, call: Call::GetMemParams { slots: 0 } }.write(&mut packet);
    let bytes = [packet.bytes(), &[0; 6], b"noise"].concat();
    rig.broker.owner_packet(bad, &bytes, &[]);
    let did = rig.did();
    assert_eq!(did[0], "2 <- 50 memory 0+0 of 0");
    assert!(did[1].starts_with("2 <- fault: Kind") || did[1].starts_with("2 <- fault: Length"), "{did:?}");
    assert_eq!(did[2..], ["2 closed", "c2 disconnect 0"]);
    assert_eq!(rig.say(kept, "request", "request"), ["c1 <- New request"]);
}

#[test]
fn an_owner_that_did_wrong_is_told_nothing_more_and_gets_nothing_more() {
    let mut rig = Rig::new();
    let bad = rig.owner();
    rig.call(bad, Call::GetMemParams { slots: 1 });
    rig.hold_session(bad, 5);
    rig.broker.owner_packet(bad, b"", &[]);
    assert_eq!(rig.did(), ["1 <- fault: the packet is empty", "1 closed"]);
    rig.broker.memory_made(bad, true);
    assert_eq!(rig.did(), [""; 0]);
    let client = rig.client();
    assert_eq!(rig.say(client, "setup", setup(5)), ["c1 disconnect 0"]);
    assert_eq!(rig.call(bad, Call::Listen { is_on: true }), [""; 0]);
    rig.broker.owner_left(bad);
    assert_eq!(rig.did(), ["1 free"]);
    // Another one holds its session without waiting for it.
    let other = rig.owner();
    assert_eq!(rig.hold_session(other, 5), ["2 <- 6 done"]);
}

#[test]
fn hello_comes_first_and_once_and_with_this_version() {
    let mut rig = Rig::new();
    let owner = rig.broker.owner_joined().expect("there is a place");
    let hello = |version| Call::Hello { version, name: String::new() };
    assert_eq!(rig.call(owner, Call::Listen { is_on: true }), ["1 <- 1 refused: Order"]);
    assert_eq!(rig.call(owner, hello(2)), ["1 <- 2 refused: Version"]);
    assert_eq!(rig.call(owner, hello(1)), ["1 <- 3 welcome"]);
    assert_eq!(rig.call(owner, hello(1)), ["1 <- 4 refused: Order"]);
}

#[test]
fn a_wrong_packet_of_a_connection_ends_this_connection_only() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let (first, second) = (rig.settled(), rig.settled());
    rig.broker.packet(first, b"noise");
    assert_eq!(rig.did(), ["c1 disconnect 0"]);
    assert_eq!(rig.send(second, "answer"), ["c2 send answer"]);
    // What follows is for nobody.
    assert_eq!(rig.send(first, "late"), [""; 0]);
    assert_eq!(rig.ended(first), ["c1 <- lost: flushed", "c1 socket closed"]);
}

#[test]
fn pieces_of_a_message_have_to_fit_and_nothing_comes_between_them() {
    let piece = |remaining, bytes| Command::Send { remaining, invalidate: None, bytes };
    for (commands, expected) in [
        (
            vec![piece(3, b"ab".as_slice()), piece(0, b"cd")],
            "a piece of a message says that 0 bytes are behind it, and 3 bytes were left before it",
        ),
        (
            vec![piece(1, b"ab".as_slice()), Command::Disconnect { within: 9 }],
            "another command has come between the pieces of a message",
        ),
        (
            vec![piece(50_000, b"a".as_slice())],
            "its owner sends a message of 50001 bytes, and MaxFragmentedSendSize is 50000 (MS-SMBD 3.1.4.2)",
        ),
        (
            vec![piece(u32::MAX, b"a".as_slice())],
            "its owner sends a message of 4294967296 bytes, and MaxFragmentedSendSize is 50000 (MS-SMBD 3.1.4.2)",
        ),
    ] {
        let mut rig = Rig::new();
        rig.acceptor(0);
        let client = rig.settled();
        let did = rig.order(client, &commands);
        assert_eq!((did, reason(&rig).as_str()), (vec!["c1 disconnect 0".to_owned()], expected));
    }
    let mut rig = Rig::new();
    rig.acceptor(0);
    let client = rig.settled();
    rig.name("abc", "abc");
    assert_eq!(rig.order(client, &[piece(2, b"a"), piece(1, b"b"), piece(0, b"c")]), ["c1 send abc"]);
}

#[test]
fn that_it_was_lost_is_the_last_event_of_a_connection() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let client = rig.settled();
    rig.send(client, "answer");
    rig.transfer(client, 3, &[0]);
    // Before anybody has asked what is to be done.
    rig.broker.sent(client);
    rig.broker.ended(client, "flushed".into());
    assert_eq!(rig.did(), ["c1 <- rdma 3 false", "c1 <- sent 1", "c1 <- lost: flushed", "c1 socket closed"]);
}

#[test]
fn nothing_is_sent_behind_what_ends_a_connection() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    let long = vec![1; 40_000];
    rig.name("long", long.clone());
    let send = || Command::Send { remaining: 0, invalidate: None, bytes: &long };
    assert_eq!(rig.order(client, &[send(), send()]), ["c1 send long", "c1 send long", "c1 disconnect 0"]);
    assert!(reason(&rig).ends_with("bytes were exchanged before SESSION_SETUP, 65536 are kept"));
}

#[test]
fn an_owner_that_closes_the_socket_of_a_connection_hears_no_more_of_it() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let client = rig.settled();
    rig.send(client, "answer");
    rig.transfer(client, 1, &[0]);
    rig.broker.socket_closed(client);
    assert_eq!(rig.did(), ["c1 socket closed", "c1 disconnect 1000"]);
    rig.broker.sent(client);
    assert_eq!(rig.done(client, 1), [""; 0]);
    assert_eq!(rig.ended(client), [""; 0]);
    assert_eq!(rig.broker.connections(), 0);
}

#[test]
fn a_disconnect_takes_a_minute_at_most() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    for (within, expected) in [(5, "disconnect 5"), (u32::MAX, "disconnect 60000")] {
        let client = rig.settled();
        let did = rig.order(client, &[Command::Disconnect { within }]);
        assert_eq!(did, [format!("c{} {expected}", client.0)]);
        // Once, and nobody else ends it again.
        assert_eq!(rig.order(client, &[Command::Disconnect { within: 0 }]), [""; 0]);
    }
    assert!(rig.logs.iter().any(|log| matches!(log, Log::Ends { reason: Reason::Disconnected, .. })));
}

#[test]
fn an_end_by_a_rule_of_the_protocol_names_its_fields_and_its_section() {
    for (reason, said) in [
        (
            Reason::NoDialect,
            "NEGOTIATE cannot be answered: its Dialects have none of 3.0, 3.0.2 and 3.1.1 that owners have as well, its \
             HashAlgorithms no SHA-512, or a context comes twice (MS-SMB2 3.3.5.4)",
        ),
        (
            Reason::SetupBeforeNegotiate,
            "the client sends another request before NEGOTIATE was answered (MS-SMB2 3.3.5.2.2)",
        ),
    ] {
        assert_eq!(reason.to_string(), said);
    }
}
