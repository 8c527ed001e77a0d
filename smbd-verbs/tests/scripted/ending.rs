//! The end of a connection: the own, the peer's, and the device's.

use smbd_core::backend::{Backend, BackendOp};
use smbd_core::error::{DisconnectReason, WorkError};

use crate::end::{
    End, FLUSHED, Told, calls, completes, flush, happens, message, nothing_is_left_of, recv, send, sends,
};
use crate::sys::rdma_cm_event_type as kind;
use crate::world::{Call, world};

const OVER: Told = Told::Disconnected(DisconnectReason::Local);

/// A connection with a receive and a send at the device that ends, and the tickets of its send and its marker.
fn ending() -> (End, [u64; 2]) {
    let mut end = End::connected(1);
    end.send(0, b"message", true);
    end.disconnect();
    let sent = sends();
    assert!(sent[1].is_marker() && sent[1].is_signalled(), "{sent:?}");
    (end, [sent[0].ticket, sent[1].ticket])
}

#[test]
fn the_end_is_reported_behind_everything_that_the_device_had() {
    let (mut end, [sent, marker]) = ending();
    assert_eq!(end.told(), []);
    let receive = world(|world| world.receives.pop_front()).unwrap().ticket;
    completes(receive, FLUSHED);
    assert_eq!(end.told(), [Told::Failed(recv(0).into(), WorkError::Flushed)]);
    completes(sent, FLUSHED);
    assert_eq!(end.told(), [Told::Failed(send(0).into(), WorkError::Flushed)], "the marker is not back");
    assert!(!calls().contains(&Call::Named("rdma_destroy_qp")));
    completes(marker, FLUSHED);
    assert_eq!(end.told(), [OVER]);
    assert!(calls().contains(&Call::Named("rdma_destroy_qp")));
    nothing_is_left_of(end);
}

#[test]
fn a_marker_that_is_back_first_ends_nothing_that_is_awaited() {
    let (mut end, [sent, marker]) = ending();
    completes(sent, 0);
    completes(marker, FLUSHED);
    assert_eq!(end.told(), [Told::Sent(0)], "a receive is with the device");
    flush();
    assert_eq!(end.told(), [Told::Failed(recv(0).into(), WorkError::Flushed), OVER]);
    nothing_is_left_of(end);
}

#[test]
fn a_message_that_was_there_before_the_flush_is_reported() {
    let (mut end, _) = ending();
    message(b"last");
    flush();
    let told = end.told();
    assert_eq!(told[0], Told::Received { slot: 0, len: 4, invalidated: None });
    assert_eq!(told.last(), Some(&OVER));
    nothing_is_left_of(end);
}

#[test]
fn a_queue_pair_is_put_into_error_if_the_connection_manager_cannot_disconnect() {
    let mut end = End::connected(1);
    world(|world| world.failing = Some(("rdma_disconnect", libc::EINVAL)));
    end.disconnect();
    let calls = calls();
    assert_eq!(calls[..2], [Call::Named("rdma_disconnect"), Call::Named("ibv_modify_qp")]);
    flush();
    assert_eq!(end.told().last(), Some(&OVER));
    nothing_is_left_of(end);
}

#[test]
fn an_end_before_the_connection_is_known_to_be_up_waits_until_it_is() {
    let mut end = End::requested();
    end.post_recv(0);
    end.backend.execute(BackendOp::Accept);
    message(b"early");
    end.told();
    calls();
    end.disconnect();
    let named = |calls: Vec<Call>| {
        calls.into_iter().filter(|call| matches!(call, Call::Named(_))).collect::<Vec<_>>()
    };
    assert_eq!(named(calls()), [Call::Named("rdma_notify"), Call::Named("ibv_modify_qp")]);
    flush();
    assert_eq!(end.told(), [], "the peer knows of no end yet");
    happens(kind::RDMA_CM_EVENT_ESTABLISHED, 0);
    assert_eq!(end.told(), [OVER]);
    assert_eq!(named(calls()), [Call::Named("rdma_disconnect"), Call::Named("rdma_destroy_qp")]);
    nothing_is_left_of(end);
}

#[test]
fn an_end_that_is_not_the_own_is_reported_with_its_reason_and_the_work_after_it() {
    for (event, status, reason) in [
        (kind::RDMA_CM_EVENT_DISCONNECTED, 0, DisconnectReason::PeerClosed),
        (kind::RDMA_CM_EVENT_DISCONNECTED, -libc::ECONNRESET, DisconnectReason::PeerAborted),
        (kind::RDMA_CM_EVENT_DEVICE_REMOVAL, 0, DisconnectReason::DeviceFailed),
    ] {
        let mut end = End::connected(1);
        happens(event, status);
        flush();
        let told = end.told();
        assert!(told.contains(&Told::Disconnected(reason)), "{told:?}");
        assert!(told.contains(&Told::Failed(recv(0).into(), WorkError::Flushed)), "{told:?}");
        nothing_is_left_of(end);
    }
}

#[test]
fn an_end_dropped_with_work_at_the_device_leaves_nothing() {
    let mut end = End::connected(3);
    end.send(0, b"message", true);
    nothing_is_left_of(end);
    nothing_is_left_of(End::connecting(2));
    nothing_is_left_of(End::requested());
    nothing_is_left_of(End::new());
}
