//! What `Connected` brings may lower what the configuration reserves, never raise it.

use smbd_core::{Access, Limits, Params, RdmaVerb, Role};

use crate::pair::{DATA, LIMITS, REQUEST, Side, request};

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
    assert!(side.connection.register(Access::Read, 3).is_err());
    side.connection.register(Access::Read, 2).unwrap();
}

#[test]
fn a_queue_of_two_places_moves_everything() {
    let mut side =
        with(Limits { read_depth: 1, send_queue: 2, rdma_len_max: 1, registration_requests: 1, ..LIMITS });
    side.rdma(RdmaVerb::Write, 10, &[(0, 10)], 0);
    side.rdma(RdmaVerb::Read, 10, &[(0, 10)], 0);
    side.send(5000);
    let id = side.connection.register(Access::Read, 1).unwrap();
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
