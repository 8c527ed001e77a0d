//! A connection goes to another owner by file descriptor.

use super::rig::{Rig, negotiate, setup};
use crate::wire::{Call, Command};

#[test]
fn a_connection_goes_when_its_transfers_have_ended_and_its_messages_were_taken() {
    let mut rig = Rig::new();
    rig.acceptor(2);
    let other = rig.owner();
    let client = rig.settled();
    rig.transfer(client, 11, &[0, 1]);
    rig.send(client, "answer");
    assert_eq!(rig.attach(other, client), ["c1 drain"]);
    assert!(!rig.broker.wants_message(client));
    rig.broker.drained(client);
    assert_eq!(rig.did(), [""; 0]);
    assert_eq!(rig.done(client, 1), ["c1 <- rdma 11 true"]);
    rig.broker.sent(client);
    assert_eq!(
        rig.did(),
        ["c1 <- sent 1", "c1 socket closed", "1 <- moved c1", "2 <- 5 attached c1 +socket c1"]
    );
    assert!(rig.broker.wants_message(client));
    assert_eq!(rig.say(client, "request", "request"), ["c1 <- New request"]);
}

#[test]
fn what_was_in_the_socket_is_carried_out_before_a_connection_goes() {
    let mut rig = Rig::new();
    rig.acceptor(2);
    let other = rig.owner();
    let client = rig.settled();
    rig.attach(other, client);
    assert_eq!(rig.send(client, "answer"), ["c1 send answer"]);
    rig.broker.sent(client);
    assert_eq!(rig.did(), ["c1 <- sent 1"]);
    rig.broker.drained(client);
    assert_eq!(rig.did(), ["c1 socket closed", "1 <- moved c1", "2 <- 5 attached c1 +socket c1"]);
}

#[test]
fn an_owner_that_goes_on_ordering_does_not_hold_up_the_move() {
    let mut rig = Rig::new();
    rig.acceptor(2);
    let other = rig.owner();
    let client = rig.settled();
    rig.transfer(client, 1, &[0]);
    rig.attach(other, client);
    rig.broker.drained(client);
    assert_eq!(rig.transfer(client, 2, &[1]), [""; 0]);
    assert_eq!(rig.send(client, "too late"), [""; 0]);
    // Not even what is wrong counts any more.
    rig.broker.packet(client, b"noise");
    assert_eq!(rig.order(client, &[Command::Disconnect { within: 0 }]), [""; 0]);
    assert_eq!(
        rig.done(client, 1),
        ["c1 <- rdma 1 true", "c1 socket closed", "1 <- moved c1", "2 <- 5 attached c1 +socket c1"]
    );
}

#[test]
fn whoever_hands_a_connection_over_may_close_its_socket() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let other = rig.owner();
    let client = rig.settled();
    rig.transfer(client, 1, &[0]);
    rig.attach(other, client);
    rig.broker.socket_closed(client);
    assert_eq!(rig.did(), [""; 0]);
    assert!(rig.done(client, 1).contains(&"2 <- 5 attached c1 +socket c1".to_owned()));
}

#[test]
fn a_client_that_comes_while_its_connection_goes_is_heard_by_the_new_owner_only() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let other = rig.owner();
    let client = rig.settled();
    rig.attach(other, client);
    assert_eq!(rig.say(client, "request", "request"), [""; 0]);
    rig.broker.drained(client);
    assert_eq!(
        rig.did(),
        ["c1 socket closed", "1 <- moved c1", "2 <- 5 attached c1 +socket c1", "c1 <- New request"]
    );
}

#[test]
fn a_session_that_is_bound_while_the_connection_goes_leads_on_to_its_holder() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let (other, holder) = (rig.owner(), rig.owner());
    rig.hold_session(holder, 5);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    rig.send(client, "response");
    rig.broker.sent(client);
    rig.attach(other, client);
    rig.say(client, "setup", setup(5));
    rig.did();
    rig.broker.drained(client);
    assert_eq!(
        rig.did(),
        [
            "c1 socket closed",
            "1 <- moved c1",
            "2 <- 7 attached c1 +socket c1",
            "c1 socket closed",
            "2 <- moved c1",
            "3 <- new c1 by SessionId, negotiated +socket c1",
            "c1 <- PastRequest negotiate",
            "c1 <- PastResponse response",
            "c1 <- New setup",
        ]
    );
}

#[test]
fn a_connection_that_was_handed_over_before_session_setup_still_goes_to_the_holder_of_its_session() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let (other, holder) = (rig.owner(), rig.owner());
    rig.hold_session(holder, 5);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    rig.attach(other, client);
    rig.broker.drained(client);
    rig.did();
    rig.send(client, "response");
    rig.broker.sent(client);
    rig.did();
    let did = rig.say(client, "setup", setup(5));
    assert_eq!(
        did[2..],
        [
            "3 <- new c1 by SessionId, negotiated +socket c1",
            "c1 <- PastRequest negotiate",
            "c1 <- PastResponse response",
            "c1 <- New setup",
        ]
    );
}

#[test]
fn a_connection_on_its_way_ends_if_the_attacher_leaves() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let other = rig.owner();
    let client = rig.settled();
    rig.transfer(client, 1, &[0]);
    rig.attach(other, client);
    rig.broker.owner_left(other);
    assert_eq!(rig.did(), ["2 free", "c1 disconnect 0"].into_iter().rev().collect::<Vec<_>>());
    assert_eq!(rig.done(client, 1), ["c1 <- rdma 1 true"]);
    rig.broker.drained(client);
    assert_eq!(rig.ended(client), ["c1 <- lost: flushed", "c1 socket closed"]);
}

#[test]
fn a_connection_on_its_way_ends_if_its_owner_leaves_and_the_attacher_is_told() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(1);
    let other = rig.owner();
    let client = rig.settled();
    rig.transfer(client, 1, &[0]);
    rig.attach(other, client);
    rig.broker.owner_left(acceptor);
    assert_eq!(rig.did(), ["2 <- 5 refused: Ended", "c1 disconnect 0"]);
    assert_eq!(rig.done(client, 1), ["1 free", "c1 <- rdma 1 true"]);
}

#[test]
fn a_connection_on_its_way_ends_if_the_client_goes_and_the_attacher_is_told() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let other = rig.owner();
    let client = rig.settled();
    rig.attach(other, client);
    assert_eq!(rig.ended(client), ["2 <- 5 refused: Ended", "c1 <- lost: flushed", "c1 socket closed"]);
    assert_eq!(rig.attach(other, client), ["2 <- 6 refused: Ended"]);
}

#[test]
fn a_connection_can_be_attached_once_at_a_time_and_by_its_socket_only() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let (second, third) = (rig.owner(), rig.owner());
    let client = rig.settled();
    rig.attach(second, client);
    assert_eq!(rig.attach(third, client), ["3 <- 7 refused: Held"]);
    assert_eq!(rig.call(third, Call::Attach), ["3 <- 8 refused: NotASocket"]);
    assert_eq!(rig.call_with(third, Call::Attach, &[None, Some(client)]), ["3 <- 9 refused: NotASocket"]);
}

#[test]
fn messages_of_the_former_owner_and_of_the_broker_do_not_count_for_the_new_owner() {
    let mut rig = Rig::new();
    let acceptor = rig.acceptor(0);
    super::routing::answering(&mut rig, acceptor);
    let client = rig.client();
    rig.say(client, "negotiate", negotiate([1; 16]));
    rig.name("response", "response");
    rig.broker.negotiated(client, Some("response".into()));
    rig.say(client, "setup", setup(0));
    // The transport has not taken the broker's. Three are allowed.
    for name in ["first", "second", "third"] {
        assert_eq!(rig.send(client, name), [format!("c1 send {name}")]);
    }
    rig.broker.sent(client);
    assert_eq!(rig.did(), [""; 0]);
    rig.broker.sent(client);
    assert_eq!(rig.did(), ["c1 <- sent 1"]);
}

#[test]
fn half_a_message_of_the_former_owner_is_no_part_of_the_new_owners() {
    let mut rig = Rig::new();
    rig.acceptor(0);
    let other = rig.owner();
    let client = rig.settled();
    rig.order(client, &[Command::Send { remaining: 5, invalidate: None, bytes: b"half" }]);
    rig.attach(other, client);
    rig.broker.drained(client);
    rig.did();
    assert_eq!(rig.send(client, "whole"), ["c1 send whole"]);
}
