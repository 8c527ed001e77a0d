//! Work requests: their order, and those that the device refuses.

use smbd_core::WrId;
use smbd_core::backend::{Backend, BackendOp};
use smbd_core::error::WorkError;

use crate::end::{End, Told, calls, completes, flush, later_send, nothing_is_left_of, send, sends};
use crate::world::{Call, world};

#[test]
fn receives_are_with_the_device_before_the_peer_may_send() {
    let mut end = End::requested();
    calls();
    end.post_recv(0);
    end.post_recv(1);
    end.backend.execute(BackendOp::Accept);
    assert_eq!(calls(), [Call::PostRecv(2), Call::Named("rdma_accept")]);
    flush();
    nothing_is_left_of(end);

    let end = End::connecting(3);
    let place = |calls: &[Call], wanted: &Call| calls.iter().position(|call| call == wanted).unwrap();
    let calls = calls();
    assert!(place(&calls, &Call::PostRecv(3)) < place(&calls, &Call::Named("rdma_connect")), "{calls:?}");
    nothing_is_left_of(end);
}

#[test]
fn a_receive_is_with_the_device_before_the_send_behind_it() {
    let mut end = End::connected(1);
    end.post_recv(1);
    end.send(0, b"grants it", false);
    end.post_recv(2);
    end.send(1, b"grants another", true);
    end.ring();
    let kinds: Vec<_> = calls().into_iter().map(|call| matches!(call, Call::PostRecv(1))).collect();
    assert_eq!(kinds, [true, false, true, false]);
    nothing_is_left_of(end);
}

#[test]
fn a_chain_is_handed_over_by_one_call_in_the_order_of_its_requests() {
    let mut end = End::connected(1);
    for slot in 0..3 {
        end.send(slot, &[slot as u8 + 1; 4], slot == 2);
    }
    assert_eq!(calls(), [], "nothing leaves before the doorbell");
    end.ring();
    let calls = calls();
    let [Call::PostSend(sent)] = &calls[..] else { panic!("{calls:?}") };
    let bytes: Vec<_> = sent.iter().map(|sent| sent.bytes.clone()).collect();
    assert_eq!(bytes, [[1; 4], [2; 4], [3; 4]]);
    assert_eq!(sent.iter().map(|sent| sent.is_signalled()).collect::<Vec<_>>(), [false, false, true]);
    nothing_is_left_of(end);
}

#[test]
fn a_request_that_the_device_refuses_fails_and_those_it_took_come_back() {
    let mut end = End::connected(1);
    world(|world| world.room = 2);
    for slot in 0..4 {
        end.send(slot, b"message", slot == 3);
    }
    end.ring();
    let taken = sends();
    assert_eq!(taken.len(), 2);
    // The queue is broken, so nothing more is signalled: the device returns what it has when the connection ends.
    end.disconnect();
    world(|world| world.room = usize::MAX);
    flush();
    let told = end.told();
    let of = |slot| {
        told.iter().filter(move |told| matches!(told, Told::Failed(WrId::Send(id), _) if *id == send(slot)))
    };
    for slot in 0..2 {
        assert_eq!(of(slot).collect::<Vec<_>>(), [&Told::Failed(send(slot).into(), WorkError::Flushed)]);
    }
    let refused = WorkError::PostFailed { errno: libc::ENOMEM };
    assert_eq!(of(2).collect::<Vec<_>>(), [&Told::Failed(send(2).into(), refused)]);
    assert_eq!(of(3).count(), 1);
    nothing_is_left_of(end);
}

#[test]
fn a_slot_is_free_when_its_send_is_back_and_not_before() {
    let mut end = End::connected(1);
    end.send(0, b"first", false);
    end.send(1, b"second", true);
    end.ring();
    let sent = sends();
    completes(sent[1].ticket, 0);
    assert_eq!(end.told(), [Told::Sent(0), Told::Sent(1)]);
    end.send(0, b"again", true);
    let again = sends().pop().unwrap();
    assert_eq!(again.bytes, b"again");
    // The same slot, while the device has it.
    end.send_later(0, b"too early");
    let refused = WorkError::PostFailed { errno: libc::EINVAL };
    assert_eq!((sends(), end.told()), (vec![], vec![Told::Failed(later_send(0).into(), refused)]));
    completes(again.ticket, 0);
    assert_eq!(end.told(), [Told::Sent(0)]);
    nothing_is_left_of(end);
}
