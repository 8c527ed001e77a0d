//! Connecting: what is reported of a connection that comes up, or does not.

use smbd_core::WrId;
use smbd_core::backend::{Backend, BackendOp};
use smbd_core::error::{ConnectReason, WorkError};

use crate::end::{End, Told, calls, flush, happens, message, nothing_is_left_of};
use crate::sys::rdma_cm_event_type as kind;
use crate::world::{Call, world};

#[test]
fn why_a_connect_failed_is_reported_before_its_flushed_receives() {
    let mut end = End::connecting(2);
    // Some devices flush before the connection manager says why.
    flush();
    assert_eq!(end.told(), []);
    happens(kind::RDMA_CM_EVENT_REJECTED, 28);
    let told = end.told();
    assert_eq!(told[0], Told::ConnectFailed(ConnectReason::Refused));
    let flushed = |told: &Told| matches!(told, Told::Failed(WrId::Recv(_), WorkError::Flushed));
    assert_eq!((told.len(), told[1..].iter().all(flushed)), (3, true), "{told:?}");
    nothing_is_left_of(end);
}

#[test]
fn a_call_that_fails_fails_the_connect_with_its_reason() {
    for (name, errno, reason) in [
        ("rdma_resolve_addr", libc::EHOSTUNREACH, ConnectReason::Unreachable),
        ("rdma_resolve_route", libc::ETIMEDOUT, ConnectReason::TimedOut),
        ("rdma_create_qp", libc::ENOMEM, ConnectReason::Other(libc::ENOMEM)),
        ("ibv_create_cq", libc::ENOMEM, ConnectReason::Other(libc::ENOMEM)),
        ("ibv_reg_mr", libc::ENOMEM, ConnectReason::Other(libc::ENOMEM)),
        ("rdma_connect", libc::ECONNREFUSED, ConnectReason::Refused),
    ] {
        let mut end = End::new();
        end.post_recv(0);
        world(|world| world.failing = Some((name, errno)));
        end.backend.execute(BackendOp::Connect);
        let mut told = end.told();
        for kind in [kind::RDMA_CM_EVENT_ADDR_RESOLVED, kind::RDMA_CM_EVENT_ROUTE_RESOLVED] {
            happens(kind, 0);
            told.extend(end.told());
        }
        assert_eq!(told, [Told::ConnectFailed(reason)], "{name}");
        nothing_is_left_of(end);
    }
}

#[test]
fn nobody_is_connected_without_the_receives_of_the_first_message() {
    world(|world| world.room = 0);
    let mut end = End::requested();
    end.post_recv(0);
    calls();
    end.backend.execute(BackendOp::Accept);
    let calls = calls();
    assert!(calls.contains(&Call::Named("rdma_reject")), "{calls:?}");
    assert!(!calls.contains(&Call::Named("rdma_accept")), "{calls:?}");
    nothing_is_left_of(end);
}

#[test]
fn a_message_before_the_last_one_of_the_connection_manager_is_reported() {
    let mut end = End::requested();
    end.post_recv(0);
    end.backend.execute(BackendOp::Accept);
    message(b"early");
    assert_eq!(end.told(), [Told::Received { slot: 0, len: 5, invalidated: None }]);
    happens(kind::RDMA_CM_EVENT_ESTABLISHED, 0);
    assert_eq!(end.told(), [Told::Connected]);
    nothing_is_left_of(end);
}
