//! Completions: messages, sends, and what the device says of neither.

use smbd_core::RdmaVerb;
use smbd_core::backend::{Backend, ReceiveMemory};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_verbs::Buffer;

use crate::end::{End, REMOTE_ACCESS, Told, completes, message, nothing_is_left_of, recv, send, sends};
use crate::world::{Completed, world};

const fn received(slot: u16, len: u32) -> Told {
    Told::Received { slot, len, invalidated: None }
}

#[test]
fn a_message_can_be_read_until_its_receive_is_posted_again() {
    let mut end = End::connected(2);
    message(b"first");
    message(b"second");
    assert_eq!(end.told(), [received(0, 5), received(1, 6)]);
    assert_eq!([end.backend.received(recv(0)), end.backend.received(recv(1))], [&b"first"[..], b"second"]);
    end.post_recv(0);
    assert_eq!(end.backend.received(recv(0)), b"", "the device has it");
    assert_eq!(end.backend.received(recv(1)), b"second");
    nothing_is_left_of(end);
}

#[test]
fn a_message_is_no_longer_than_its_receive_buffer_whatever_the_device_says() {
    let mut end = End::connected(2);
    crate::calls::receive(b"short", u32::MAX, Completed::default());
    end.told();
    let len = end.backend.received(recv(0)).len();
    assert!(len <= 4096, "{len}");
    nothing_is_left_of(end);
}

#[test]
fn unsignalled_sends_are_back_in_order_with_the_signalled_one_behind_them() {
    let mut end = End::connected(1);
    for slot in 0..4 {
        end.send(slot, b"message", slot == 2);
    }
    end.ring();
    completes(sends()[2].ticket, 0);
    assert_eq!(end.told(), [Told::Sent(0), Told::Sent(1), Told::Sent(2)]);
    nothing_is_left_of(end);
}

#[test]
fn a_failed_completion_fails_the_request_that_it_names_and_none_before() {
    let mut end = End::connected(1);
    for slot in 0..3 {
        end.send(slot, b"message", slot == 2);
    }
    end.ring();
    // An unsignalled one: devices report each failure.
    completes(sends()[1].ticket, REMOTE_ACCESS);
    let told = end.told();
    assert_eq!(told, [Told::Sent(0), Told::Failed(send(1).into(), WorkError::RemoteAccess)]);
    nothing_is_left_of(end);
}

#[test]
fn a_signalled_read_is_not_back_with_a_send_behind_it() {
    let mut end = End::connected(1);
    let buffer = Buffer::new(64).unwrap();
    end.rdma(0, RdmaVerb::Read, &buffer, true);
    end.send(0, b"message", true);
    end.ring();
    let sent = sends();
    world(|world| world.complete(Completed { ticket: sent[1].ticket, ..Completed::default() }));
    assert_eq!(end.told(), []);
    completes(sent[0].ticket, 0);
    assert_eq!(end.told(), [Told::RdmaDone(0), Told::Sent(0)]);
    nothing_is_left_of(end);
}

#[test]
fn a_completion_of_nothing_that_is_out_changes_nothing() {
    let mut end = End::connected(2);
    end.send(0, b"message", true);
    let ticket = sends()[0].ticket;
    message(b"first");
    let of_receive = world(|world| world.receives[0].ticket);
    completes(ticket, 0);
    assert_eq!(end.told(), [received(0, 5), Told::Sent(0)]);
    // Again, of a request that never was, and of an earlier use of a slot.
    let first = of_receive ^ 1;
    for ticket in [ticket, ticket + 1000, first, of_receive ^ 1 << 40] {
        world(|world| world.complete(Completed { ticket, len: 3, ..Completed::default() }));
        assert_eq!(end.told(), [], "{ticket:#x}");
    }
    assert_eq!(end.backend.received(recv(0)), b"first");
    nothing_is_left_of(end);
}

#[test]
fn a_completion_queue_that_cannot_be_read_is_the_end_of_the_connection() {
    let mut end = End::connected(1);
    world(|world| world.failing = Some(("ibv_poll_cq", libc::EIO)));
    assert_eq!(end.told(), [Told::Disconnected(DisconnectReason::DeviceFailed)]);
    nothing_is_left_of(end);
}

#[test]
fn no_completion_is_lost_of_more_than_are_taken_at_once() {
    let mut end = End::connected(20);
    (0..20).for_each(|number| message(&[number; 3]));
    assert_eq!(end.told(), (0..20).map(|slot| received(slot, 3)).collect::<Vec<_>>());
    assert!(end.backend.next_input().is_none());
    nothing_is_left_of(end);
}
