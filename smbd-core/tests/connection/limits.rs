//! What `Connected` brings may lower what the configuration reserves, never raise it.

use smbd_core::error::CloseReason;
use smbd_core::{Access, Close, Event, Limits, Params, RdmaVerb, Role};

use crate::pair::{DATA, LIMITS, REQUEST, Side, request, shape};

fn with(limits: Limits) -> Side {
    let params = Params { keepalive: None, send_credit_timeout: None, ..Params::example() };
    let mut side = Side::new(Role::Acceptor, params);
    side.limits = limits;
    side.drain();
    side.connect();
    side.receive(&request(&REQUEST));
    side.settle();
    side.receive_data(smbd_core::wire::DataTransfer { credits_granted: 1000, ..DATA });
    side.settle();
    side
}

#[test]
fn before_connected_the_limits_are_those_of_the_configuration() {
    let side = Side::new(Role::Initiator, Params::example());
    let limits = side.connection.limits();
    // 16 sends, 4 requests, 8 places for windows.
    assert_eq!((limits.read_depth, limits.send_queue), (4, 28));
    assert!(!limits.send_with_invalidate);
}

#[test]
fn higher_limits_are_taken_as_the_budgets() {
    let side = with(Limits { read_depth: 1000, send_queue: 5000, ..LIMITS });
    let limits = side.connection.limits();
    assert_eq!((limits.read_depth, limits.send_queue), (4, 28));
}

#[test]
fn lower_limits_hold() {
    let mut side =
        with(Limits { read_depth: 1, send_queue: 3, rdma_len_max: 5, registration_requests: 1, ..LIMITS });
    assert_eq!(side.connection.limits().read_depth, 1);
    side.rdma(RdmaVerb::Read, 20, &[(0, 100)], 0);
    side.drain();
    assert_eq!(side.rdma.len(), 1);
    side.settle();
    assert_eq!(side.requests.len(), 4);
    side.send(10_000);
    side.drain();
    assert_eq!(side.sends.len(), 3);
    assert!(side.connection.register(side.now, Access::Read, 3).is_err());
    side.connection.register(side.now, Access::Read, 2).unwrap();
}

#[test]
fn a_queue_of_two_places_moves_everything() {
    let mut side =
        with(Limits { read_depth: 1, send_queue: 2, rdma_len_max: 1, registration_requests: 1, ..LIMITS });
    side.rdma(RdmaVerb::Write, 10, &[(0, 10)], 0);
    side.rdma(RdmaVerb::Read, 10, &[(0, 10)], 0);
    side.send(5000);
    let id = side.connection.register(side.now, Access::Read, 1).unwrap();
    side.settle();
    assert_eq!(side.requests.len(), 20);
    assert_eq!(side.data_headers().iter().map(|header| header.data_length).sum::<u32>(), 5000);
    assert_eq!(side.connection.segments(id).len(), 1);
}

#[test]
fn limits_that_come_after_the_request_hold_from_then_on() {
    let mut side = Side::new(Role::Acceptor, Params { keepalive: None, ..Params::example() });
    side.limits = Limits { send_queue: 2, ..LIMITS };
    side.drain();
    side.receive(&request(&REQUEST));
    side.drain();
    side.connect();
    side.receive_data(smbd_core::wire::DataTransfer { credits_granted: 1000, ..DATA });
    side.send(10_000);
    side.drain();
    assert_eq!(side.sends.len(), 2, "the response and one");
}

#[test]
fn a_registration_that_takes_no_place_comes_behind_messages() {
    let mut side = with(Limits { send_queue: 3, registration_requests: 0, ..LIMITS });
    side.connection.register(side.now, Access::Read, 2).unwrap();
    side.send(8);
    assert_eq!(shape(&side.drain()), "sgnw");
}

#[test]
fn a_registration_leaves_a_place_for_a_send() {
    let mut side = with(Limits { send_queue: 3, registration_requests: 1, ..LIMITS });
    side.device.registers = false;
    side.send(8);
    side.drain();
    assert_eq!(side.sends.len(), 1);
    side.connection.register(side.now, Access::Read, 2).unwrap();
    side.drain();
    assert_eq!(side.registering.len(), 0, "two of three places are free, and it needs both");
    side.complete_send();
    side.drain();
    assert_eq!(side.registering.len(), 1);
}

/// A side that is never out of messages and credits; one send completes at a time.
fn streaming(limits: Limits) -> Side {
    let params = Params {
        keepalive: None,
        send_credit_timeout: None,
        registration_slots: 6,
        segments_max: 8,
        ..Params::example()
    };
    let mut side = Side::new(Role::Acceptor, params);
    side.limits = limits;
    side.device.registers = false;
    side.drain();
    side.connect();
    side.receive(&request(&REQUEST));
    side.settle();
    side.receive_data(smbd_core::wire::DataTransfer { credits_granted: 60_000, ..DATA });
    side.settle();
    side
}

fn another_round(side: &mut Side) {
    while side.connection.send(side.now, 100, None).is_ok() {}
    side.drain();
    side.complete_send();
}

#[test]
fn a_stream_of_messages_keeps_no_rdma_request_out_of_a_short_queue() {
    for send_queue in 2..6 {
        let mut side = streaming(Limits { send_queue, ..LIMITS });
        another_round(&mut side);
        side.rdma(RdmaVerb::Read, 100, &[(0, 100)], 0);
        let posted = (0..40).any(|_| {
            another_round(&mut side);
            side.connection.stats().rdma_reads == 1
        });
        assert!(posted, "starved in a queue of {send_queue}");
    }
}

#[test]
fn a_stream_of_messages_keeps_no_window_binds_out_of_a_short_queue() {
    for send_queue in 5..9 {
        let mut side = streaming(Limits { send_queue, registration_requests: 1, ..LIMITS });
        another_round(&mut side);
        side.connection.register(side.now, Access::Read, 4).unwrap();
        let registering = (0..40).any(|_| {
            another_round(&mut side);
            side.connection.outstanding().registrations == 1
        });
        assert!(registering, "starved in a queue of {send_queue}");
    }
}

#[test]
fn registrations_take_no_more_places_than_the_configuration_reserves_for_them() {
    let mut side = streaming(Limits { registration_requests: 2, ..LIMITS });
    assert!(side.connection.register(side.now, Access::Read, 4).is_err(), "8 of 6 places");
    side.connection.register(side.now, Access::Read, 2).unwrap();
    side.connection.register(side.now, Access::Read, 2).unwrap();
    side.drain();
    assert_eq!(side.connection.outstanding().registrations, 1, "4 of 6 places are taken, 4 more do not fit");
}

/// Found by fuzzing: a flush waited for the places that a second registration waited for.
#[test]
fn a_flush_waits_for_no_registration_that_waits_for_places() {
    let mut side =
        with(Limits { read_depth: 1, send_queue: 2, rdma_len_max: 1, registration_requests: 1, ..LIMITS });
    side.device.registers = false;
    for _ in 0..2 {
        side.connection.register(side.now, Access::Write, 1).unwrap();
    }
    let until = side.now.saturating_add(std::time::Duration::from_secs(1));
    side.connection.close(side.now, Close::Flush { until });
    side.drain();
    let closed = side.events.iter().any(|event| matches!(event, Event::Closed(CloseReason::Local)));
    assert!(closed, "{:?}", side.events);
}
