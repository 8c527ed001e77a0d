//! Registrations: how long they last, and in which order they end.

use smbd_core::backend::{Backend, BackendOp};
use smbd_core::{Access, BufferDescriptorV1, Segment, Token};
use smbd_verbs::Buffer;

use crate::end::{End, Told, calls, completes, flush, message, nothing_is_left_of, reg, sends};
use crate::sys::ibv_wr_opcode;
use crate::world::{Attributes, Call, Completed, world};

/// A vendor whose devices keep to the manual, and the one of rxe.
const ANY: u32 = 0x02C9;
const RXE: u32 = 0x00FF_FFFF;

/// A connection on such a device, with a registration, whose bind may be under way, and its token.
fn registering(vendor_id: u32, windows: bool) -> (End, Buffer, Token) {
    world(|world| world.attributes = Attributes { vendor_id, windows });
    let mut end = End::connected(4);
    let buffer = Buffer::new(4096).unwrap();
    end.backend.execute(BackendOp::Register {
        id: reg(0),
        buffer: &buffer,
        access: Access::Read,
        segments_max: 1,
    });
    let told = end.told();
    let [Told::Registered { tokens, bind_complete }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*bind_complete, !windows);
    (end, buffer, tokens[0])
}

/// As [`registering`], and the bind is over.
fn registered(vendor_id: u32, windows: bool) -> (End, Buffer, Token) {
    let (mut end, buffer, token) = registering(vendor_id, windows);
    if windows {
        let bind = sends().pop().unwrap();
        assert_eq!((bind.opcode, bind.key), (ibv_wr_opcode::IBV_WR_BIND_MW, token.0));
        completes(bind.ticket, 0);
        assert_eq!(end.told(), [Told::BindComplete(0)]);
    }
    calls();
    (end, buffer, token)
}

fn deregister(end: &mut End, token: Token, live: bool) {
    let descriptor = BufferDescriptorV1 { offset: 0, token, length: 4096 };
    end.backend.execute(BackendOp::Deregister { id: reg(0), segments: &[Segment::of(descriptor, live)] });
}

#[test]
fn a_deregistration_is_reported_behind_the_messages_that_the_device_holds() {
    let (mut end, _buffer, token) = registered(ANY, false);
    message(b"held");
    deregister(&mut end, token, true);
    assert_eq!(calls(), [Call::Named("ibv_dereg_mr")], "the peer has no access from now on");
    assert_eq!(end.told(), [Told::Received { slot: 0, len: 4, invalidated: None }, Told::Deregistered(0)]);
    nothing_is_left_of(end);
}

#[test]
fn a_window_is_invalidated_by_a_request_and_its_end_reported_when_that_is_back() {
    let (mut end, _buffer, token) = registered(ANY, true);
    deregister(&mut end, token, true);
    let sent = sends();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].opcode, sent[0].key), (ibv_wr_opcode::IBV_WR_LOCAL_INV, token.0));
    assert!(sent[0].is_signalled());
    assert_eq!(end.told(), []);
    completes(sent[0].ticket, 0);
    assert_eq!(end.told(), [Told::Deregistered(0)]);
    nothing_is_left_of(end);
}

#[test]
fn a_window_that_the_peer_has_invalidated_is_touched_no_more() {
    let (mut end, _buffer, token) = registered(ANY, true);
    crate::calls::receive(b"ends it", 7, Completed { flags: 8, key: token.0, ..Completed::default() });
    world(|world| world.bound.clear());
    assert_eq!(end.told(), [Told::Received { slot: 0, len: 7, invalidated: Some(token) }]);
    deregister(&mut end, token, false);
    assert_eq!(calls(), []);
    assert_eq!(end.told(), [Told::Deregistered(0)]);
    nothing_is_left_of(end);
}

#[test]
fn rxe_frees_a_window_instead_of_invalidating_it() {
    let (mut end, _buffer, token) = registered(RXE, true);
    deregister(&mut end, token, true);
    assert_eq!(calls(), [Call::Named("ibv_dealloc_mw")]);
    assert_eq!(end.told(), [Told::Deregistered(0)]);
    nothing_is_left_of(end);
}

#[test]
fn windows_are_freed_before_their_queue_pair() {
    let (mut end, _buffer, _) = registered(RXE, true);
    end.disconnect();
    flush();
    end.told();
    let names: Vec<_> = calls().into_iter().filter(|call| matches!(call, Call::Named(_))).collect();
    let place = |name| names.iter().position(|call| *call == Call::Named(name)).unwrap();
    assert!(place("ibv_dealloc_mw") < place("rdma_destroy_qp"), "{names:?}");
    nothing_is_left_of(end);
    // A bind that is under way keeps its window.
    let (end, ..) = registering(RXE, true);
    nothing_is_left_of(end);
}

#[test]
fn memory_stays_registered_until_the_send_that_reads_it_is_back() {
    let mut end = End::connected(1);
    // So many buffers that those nobody needs are looked for when the next one is used.
    let others: Vec<_> = (0..15).map(|_| Buffer::new(64).unwrap()).collect();
    for (slot, other) in (0..).zip(&others) {
        end.send_buffer(slot % 8, other, true);
        completes(sends()[0].ticket, 0);
        assert_eq!(end.told(), [Told::Sent(slot % 8)]);
    }
    let buffer = Buffer::new(64).unwrap();
    buffer.fill(0, b"body").unwrap();
    end.send_buffer(0, &buffer, true);
    let sent = sends().pop().unwrap();
    assert_eq!(sent.bytes[..8], *b"headbody");
    drop(buffer);
    let is_known = || world(|world| world.regions.contains_key(&sent.keys[1]));
    let next = Buffer::new(64).unwrap();
    end.send_buffer(1, &next, true);
    end.ring();
    assert!(is_known(), "the device reads it");
    completes(sends()[0].ticket, 0);
    assert_eq!(end.told(), [Told::Sent(0), Told::Sent(1)]);
    // The next look is behind twice as many.
    let more: Vec<_> = (0..32).map(|_| Buffer::new(64).unwrap()).collect();
    for other in &more {
        end.send_buffer(0, other, true);
        completes(sends()[0].ticket, 0);
        end.told();
    }
    assert!(!is_known(), "nobody needs it any more");
    nothing_is_left_of(end);
}
