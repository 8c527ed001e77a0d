//! What people are told of a broker.

use super::rig::{Rig, setup};
use crate::broker::{ConnectionState, Counts, Quotas};
use crate::wire::Rule;

#[test]
fn an_owner_is_told_with_its_slots_its_rules_and_its_connections_until_the_device_is_done() {
    let mut rig = Rig::new();
    let owner = rig.acceptor(3);
    rig.hold_session(owner, 5);
    let client = rig.settled();
    rig.transfer(client, 7, &[0, 2]);
    let told = rig.broker.owner_overviews();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((told.id, told.name.as_str(), told.is_acceptor, told.is_gone), (owner, "smbd", true, false));
    assert_eq!((told.slots, told.slots_in_use), (3, 2));
    assert_eq!((told.connections, told.sessions, told.clients), (1, 1, 0));
    rig.broker.owner_left(owner);
    let told = rig.broker.owner_overviews();
    assert_eq!(told.iter().map(|told| (told.is_gone, told.slots_in_use)).collect::<Vec<_>>(), [(true, 2)]);
    rig.done(client, 1);
    assert_eq!(rig.broker.owner_overviews(), []);
}

#[test]
fn a_connection_is_told_with_its_owner_and_how_it_came_there() {
    let mut rig = Rig::new();
    let (first, second) = (rig.acceptor(1), rig.owner());
    rig.hold_session(second, 5);
    let (waiting, settled, bound) = (rig.client(), rig.settled(), rig.client());
    rig.say(bound, "binding", setup(5));
    let told = |rig: &Rig| {
        let all = rig.broker.connection_overviews();
        all.into_iter().map(|told| (told.id, told.owner, told.rule, told.state)).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&rig),
        [
            (waiting, None, None, ConnectionState::Waiting),
            (settled, Some(first), Some(Rule::Default), ConnectionState::Held),
            (bound, Some(second), Some(Rule::SessionId), ConnectionState::Held),
        ]
    );
    rig.attach(second, settled);
    assert_eq!(told(&rig)[1].3, ConnectionState::Moving);
    rig.broker.drained(settled);
    rig.did();
    assert_eq!(told(&rig)[1], (settled, Some(second), None, ConnectionState::Held));
}

#[test]
fn what_has_passed_is_counted_and_stays_in_the_sum_when_a_connection_has_ended() {
    let mut rig = Rig::new();
    rig.acceptor(3);
    let client = rig.settled();
    let setup_len = setup(0).len() as u64;
    rig.send(client, "answer");
    rig.broker.sent(client);
    rig.did();
    rig.transfer(client, 7, &[0, 2]);
    rig.done(client, 1);
    rig.transfer(client, 8, &[1]);
    rig.broker.transfer_done(client, crate::broker::TransferId(2), false);
    rig.did();
    let told = rig.broker.connection_overviews();
    let counts = Counts {
        messages_in: 1,
        bytes_in: setup_len,
        messages_out: 1,
        bytes_out: 6,
        transfers: 1,
        transfers_failed: 1,
        rdma_in: 200,
        ..Counts::default()
    };
    assert_eq!((told[0].counts, rig.broker.counts()), (counts, counts));
    rig.ended(client);
    assert_eq!((rig.broker.connections(), rig.broker.counts()), (0, counts));
}

#[test]
fn other_quotas_hold_at_once_and_end_nothing() {
    let mut rig = Rig::new();
    rig.acceptor(1);
    let (first, second) = (rig.settled(), rig.settled());
    rig.broker.set_quotas(Quotas { connections_max: 1, owners_max: 1, ..super::rig::settings().quotas });
    assert_eq!((rig.broker.connections(), rig.broker.owner_joined()), (2, None));
    rig.ended(first);
    let peer = crate::broker::Peer { max_send_size: 1, max_read_write_size: 1, address: String::new() };
    assert_eq!(rig.broker.connected(peer, smbd_core::Instant::ORIGIN), None);
    assert_eq!(rig.broker.connection_overviews()[0].id, second);
}
