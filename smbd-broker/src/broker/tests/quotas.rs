//! Everything is bounded.

use std::time::Duration;

use smbd_core::Instant;
use smbd_smb2::wire::Guid;

use super::rig::{Rig, SLOT_LEN, negotiate, settings, setup};
use super::routing::{answering, negotiation};
use crate::broker::{Log, Peer, Settings};
use crate::wire::{Call, Command, Limits, Negotiation, Parameters};

pub(super) fn parameters(negotiation: Option<Negotiation>) -> Parameters {
    Parameters {
        receive_credit_max: 8,
        send_credit_target: 8,
        max_send_size: 1024,
        max_receive_size: 1024,
        max_fragmented_size: 131_072,
        max_read_write_size: 1 << 20,
        keepalive_interval: 5000,
        negotiation,
    }
}

fn last_reason(rig: &Rig) -> String {
    match rig.logs.last() {
        Some(Log::Ends { reason, .. }) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_was_sent_is_told_with_the_next_event_or_when_it_is_half_of_what_may_wait() {
    let mut rig = Rig::with(Settings { limits: Limits { sends_max: 4, ..settings().limits }, ..settings() });
    rig.acceptor(2);
    let client = rig.settled();
    let sent = |rig: &mut Rig| {
        rig.send(client, "answer");
        rig.broker.sent(client);
        rig.did()
    };
    assert!(sent(&mut rig).is_empty());
    assert_eq!(rig.say(client, "request", &b"request"[..]), ["c1 <- New request", "c1 <- sent 1"]);
    rig.transfer(client, 1, &[0]);
    assert!(sent(&mut rig).is_empty());
    assert_eq!(sent(&mut rig), ["c1 <- sent 2"]);
    let long = vec![7; 50_000];
    rig.name("long", long.clone());
    rig.order(client, &[Command::Send { remaining: 0, invalidate: None, bytes: &long }]);
    rig.broker.sent(client);
    assert_eq!(rig.did(), ["c1 <- sent 1"], "half of the bytes");
    assert!(sent(&mut rig).is_empty());
    assert_eq!(rig.done(client, 1), ["c1 <- rdma 1 true", "c1 <- sent 1"]);
    assert!(sent(&mut rig).is_empty());
    assert_eq!(rig.ended(client), ["c1 <- sent 1", "c1 <- lost: flushed", "c1 socket closed"]);
}

#[test]
fn there_are_so_many_owners_at_a_time_and_those_whose_slots_are_in_use_count() {
    let mut rig = Rig::new();
    let first = rig.acceptor(1);
    let client = rig.settled();
    rig.transfer(client, 1, &[0]);
    for _ in 1..4 {
        rig.owner();
    }
    assert_eq!(rig.broker.owner_joined(), None);
    rig.broker.owner_left(first);
    assert_eq!(rig.broker.owner_joined(), None);
    rig.done(client, 1);
    assert!(rig.broker.owner_joined().is_some());
}

#[test]
fn there_are_so_many_connections_at_a_time() {
    let mut rig = Rig::new();
    let clients = [(); 6].map(|()| rig.client());
    let peer = Peer { max_send_size: 1, max_read_write_size: 1, address: String::new() };
    assert_eq!(rig.broker.connected(peer.clone(), Instant::ORIGIN), None);
    rig.ended(clients[2]);
    assert!(rig.broker.connected(peer, Instant::ORIGIN).is_some());
}

#[test]
fn an_owner_has_so_many_connections_and_those_that_are_ending_or_coming_count() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let other = rig.owner();
    rig.hold_session(other, 5);
    let first = rig.settled();
    let second = rig.settled();
    rig.settled();
    let client = rig.client();
    assert_eq!(rig.say(client, "setup", setup(0)), ["c4 disconnect 0"]);
    assert_eq!(last_reason(&rig), "owner 1 has as many connections as it may have");
    rig.order(first, &[Command::Disconnect { within: 0 }]);
    let client = rig.client();
    assert_eq!(rig.say(client, "setup", setup(0)), ["c5 disconnect 0"]);
    // Another owner is not concerned, until it has three itself.
    for _ in 0..2 {
        rig.ended(client);
        rig.ended(crate::broker::ConnectionId(4));
    }
    for _ in 0..2 {
        let client = rig.client();
        assert!(rig.say(client, "binding", setup(5))[0].starts_with("2 <- new"));
    }
    rig.attach(other, second);
    let client = rig.client();
    assert_eq!(rig.say(client, "binding", setup(5)), ["c8 disconnect 0"]);
}

#[test]
fn an_owner_that_is_full_cannot_attach_a_connection() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let other = rig.owner();
    rig.hold_session(other, 5);
    let client = rig.settled();
    for _ in 0..3 {
        let client = rig.client();
        rig.say(client, "binding", setup(5));
    }
    assert_eq!(rig.attach(other, client), ["2 <- 6 refused: Quota"]);
    assert_eq!(rig.say(client, "request", "request"), ["c1 <- New request"]);
}

#[test]
fn an_owner_holds_so_many_sessions_and_so_many_clients() {
    let mut rig = Rig::new();
    let owner = rig.owner();
    let hold = |byte| Call::SetClientGuid { client_guid: Guid([byte; 16]), is_held: true };
    for id in 1..=2 {
        assert!(rig.hold_session(owner, id.into())[0].ends_with("done"));
        assert!(rig.call(owner, hold(id))[0].ends_with("done"));
    }
    assert_eq!(rig.hold_session(owner, 3), ["1 <- 6 refused: Quota"]);
    assert_eq!(rig.call(owner, hold(3)), ["1 <- 7 refused: Quota"]);
    // What is held already is no new one, and what is forgotten makes room.
    assert_eq!(rig.hold_session(owner, 2), ["1 <- 8 done"]);
    rig.call(owner, Call::SetSessionId { session_id: 1, is_held: false });
    assert_eq!(rig.hold_session(owner, 3), ["1 <- 10 done"]);
    assert_eq!(rig.hold_session(owner, 4), ["1 <- 11 refused: Quota"]);
}

#[test]
fn slots_and_the_memory_of_all_owners_have_their_limits() {
    let mut rig = Rig::new();
    let (first, second) = (rig.owner(), rig.owner());
    let want = |slots| Call::GetMemParams { slots };
    assert_eq!(rig.call(first, want(9)), ["1 <- 3 refused: Quota"]);
    assert_eq!(rig.call(first, want(3)), ["1 make 0+3"]);
    // One call at a time.
    assert_eq!(rig.call(first, want(4)), ["1 <- 5 refused: Quota"]);
    rig.broker.memory_made(first, true);
    assert_eq!(rig.did(), ["1 <- 4 memory 0+3 of 3 +memory 0"]);
    assert_eq!(rig.call(first, want(2)), ["1 <- 6 memory 3+0 of 3"]);
    assert_eq!(rig.call(first, want(8)), ["1 make 3+5"]);
    assert_eq!(rig.call(second, want(5)), ["2 <- 8 refused: Quota"]);
    // What could not be made is no memory.
    rig.broker.memory_made(first, false);
    assert_eq!(rig.did(), ["1 <- 7 refused: Memory"]);
    assert_eq!(rig.broker.memory(), 3 * u64::from(SLOT_LEN));
    assert_eq!(rig.call(second, want(5)), ["2 make 0+5"]);
}

#[test]
fn transfers_of_a_connection_have_their_limit() {
    let mut rig = Rig::new();
    rig.acceptor(4);
    let client = rig.settled();
    for slot in 0..3 {
        rig.transfer(client, slot, &[u16::try_from(slot).expect("small")]);
    }
    assert_eq!(rig.transfer(client, 3, &[3]), ["c1 disconnect 0"]);
    assert_eq!(last_reason(&rig), "its owner has more than 3 transfers under way");
}

#[test]
fn messages_that_wait_for_the_transport_have_their_limit_in_number_and_bytes() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let client = rig.settled();
    for name in ["first", "second", "third"] {
        rig.send(client, name);
    }
    assert_eq!(rig.send(client, "fourth"), ["c1 disconnect 0"]);
    assert_eq!(last_reason(&rig), "its owner has more than 3 messages or 100000 bytes under way");
    let mut settings = settings();
    settings.limits.send_bytes_max = 60_000;
    let mut rig = Rig::with(settings);
    rig.acceptor(0);
    let client = rig.settled();
    let long = vec![1; 50_000];
    rig.name("long", long.clone());
    let send = || Command::Send { remaining: 0, invalidate: None, bytes: &long };
    // The last one may exceed it.
    assert_eq!(rig.order(client, &[send(), send()]), ["c1 send long", "c1 send long"]);
    assert_eq!(rig.order(client, &[send()]), ["c1 disconnect 0"]);
}

#[test]
fn a_client_does_not_say_how_much_of_a_message_is_kept() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let peer = Peer { max_send_size: u32::MAX, max_read_write_size: u32::MAX, address: String::new() };
    let client = rig.broker.connected(peer, Instant::ORIGIN).expect("there is a place");
    rig.say(client, "setup", setup(0));
    let begin = |remaining| [Command::Send { remaining, invalidate: None, bytes: b"a" }];
    assert_eq!(rig.order(client, &begin(100_000)), ["c1 disconnect 0"]);
    assert_eq!(
        last_reason(&rig),
        "its owner sends a message of 100001 bytes, and MaxFragmentedSendSize is 100000 (MS-SMBD 3.1.4.2)"
    );
}

#[test]
fn what_is_kept_before_session_setup_has_its_limit_in_bytes_and_messages() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    rig.say(client, "much", vec![1; 60_000]);
    assert_eq!(rig.say(client, "more", vec![2; 6000]), ["c1 disconnect 0", "c1 <- New more"]);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    for _ in 1..64 {
        assert_eq!(rig.say(client, "little", "a"), ["c2 <- New little"]);
    }
    assert_eq!(rig.say(client, "little", "a"), ["c2 disconnect 0", "c2 <- New little"]);
    assert_eq!(last_reason(&rig), "more than 64 messages were exchanged before SESSION_SETUP");
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    answering(&mut rig, acceptor);
    let (silent, negotiated, served) = (rig.client(), rig.client(), rig.settled());
    rig.say(negotiated, "negotiate", negotiate([1; 16]));
    let late = Instant::ORIGIN.saturating_add(Duration::from_secs(45));
    assert_eq!(rig.broker.deadline(), Some(late));
    rig.broker.timeout(Instant::ORIGIN.saturating_add(Duration::from_secs(44)));
    assert_eq!(rig.did(), [""; 0]);
    rig.broker.timeout(late);
    assert_eq!(rig.did(), [format!("c{} disconnect 0", silent.0), format!("c{} disconnect 0", negotiated.0)]);
    assert_eq!(rig.broker.deadline(), None);
    assert_eq!(rig.say(served, "request", "request"), [format!("c{} <- New request", served.0)]);
}

#[test]
fn parameters_are_those_of_the_default_acceptor_and_go_with_it() {
    let mut rig = Rig::new();
    let (acceptor, other) = (rig.acceptor(0), rig.owner());
    let set = |negotiation| Call::SetParameters(Box::new(parameters(negotiation)));
    let before = rig.broker.config().clone();
    assert_eq!(rig.call(other, set(None)), ["2 <- 5 refused: NotAcceptor"]);
    assert_eq!(rig.call(acceptor, set(Some(negotiation()))), ["1 <- 6 done"]);
    assert_ne!(rig.broker.config(), &before);
    assert_eq!(rig.broker.negotiation(), Some(&negotiation()));
    rig.call(acceptor, Call::Listen { is_on: false });
    assert_eq!((rig.broker.config(), rig.broker.negotiation()), (&before, None));
    rig.call(acceptor, Call::Listen { is_on: true });
    rig.call(acceptor, set(Some(negotiation())));
    rig.broker.owner_left(acceptor);
    assert_eq!((rig.broker.config(), rig.broker.negotiation()), (&before, None));
}

#[test]
fn parameters_above_those_of_the_broker_and_those_that_are_not_valid_change_nothing() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    let before = rig.broker.config().clone();
    type Change = fn(&mut Parameters);
    let changes: [Change; 7] = [
        |parameters| parameters.receive_credit_max = u16::MAX,
        |parameters| parameters.send_credit_target = u16::MAX,
        |parameters| parameters.max_send_size = u32::MAX,
        |parameters| parameters.max_receive_size = u32::MAX,
        |parameters| parameters.max_fragmented_size = u32::MAX,
        |parameters| parameters.max_read_write_size = u32::MAX,
        // Below what SMB Direct has.
        |parameters| parameters.max_receive_size = 0,
    ];
    for (at, change) in (4..).zip(changes) {
        let mut parameters = parameters(Some(negotiation()));
        change(&mut parameters);
        let did = rig.call(acceptor, Call::SetParameters(Box::new(parameters)));
        assert_eq!(did, [format!("1 <- {at} refused: Parameters")]);
        assert_eq!((rig.broker.config(), rig.broker.negotiation()), (&before, None));
    }
}

#[test]
fn messages_that_an_owner_does_not_take_hold_up_the_client_however_short_they_are() {
    let mut settings = settings();
    settings.limits.receive_bytes_max = 1000;
    let mut rig = Rig::with(settings);
    rig.acceptor(0);
    let client = rig.settled();
    // SESSION_SETUP is one of four.
    for _ in 1..4 {
        assert!(rig.broker.wants_message(client));
        rig.say(client, "little", "a");
    }
    assert!(!rig.broker.wants_message(client));
    rig.order(client, &[Command::Taken { count: 1 }]);
    assert!(rig.broker.wants_message(client));
    assert_eq!(rig.order(client, &[Command::Taken { count: 4 }]), ["c1 disconnect 0"]);
    assert_eq!(last_reason(&rig), "its owner has taken 4 messages, and 3 were given to it");
}
