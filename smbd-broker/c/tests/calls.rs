//! What C calls, called wrongly and rightly, against a broker that does what the test says.
#![expect(unsafe_code, reason = "calls are those of C")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each pointer is at a local variable of its type, or null on purpose"
)]

use std::ffi::{CStr, CString, c_int};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};
use std::thread;

use libc::iovec;
use smbd_broker::socket;
use smbd_broker::wire::{Age, Call, Command, Direction, Event as Told, Reply};
use smbd_broker_c::api::*;
use smbd_broker_c::types::*;
use smbd_testkit::script::{End, Owner, Place, newcomer};

const PATIENCE: c_int = 60_000;

const NONE: iovec = iovec { iov_base: null_mut(), iov_len: 0 };

fn attached(place: &Place) -> (c_int, Owner) {
    let path = CString::new(place.path().to_str().unwrap()).unwrap();
    let connecting = thread::spawn(move || unsafe { smbd_broker_connect(path.as_ptr(), c"test".as_ptr()) });
    let owner = place.welcome();
    (connecting.join().unwrap(), owner)
}

fn connected(broker: c_int, owner: &mut Owner) -> (c_int, End) {
    let end = owner.connection(newcomer(7));
    (unsafe { smbd_broker_accept(broker, null_mut(), PATIENCE) }, end)
}

fn why() -> String {
    unsafe { CStr::from_ptr(smbd_broker_strerror()) }.to_str().unwrap().to_owned()
}

fn piece(bytes: &mut [u8]) -> iovec {
    iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() }
}

fn header(pieces: &mut [iovec]) -> MessageHeader {
    let (msg_iov, msg_iovlen) = (pieces.as_mut_ptr(), pieces.len());
    MessageHeader { msg_iov, msg_iovlen, msg_flags: 0, remote_token: 0, age: 9, length: 9 }
}

fn event(connection: c_int, timeout: c_int) -> (c_int, Event) {
    let mut event = Event::default();
    (unsafe { smbd_broker_event(connection, &raw mut event, timeout) }, event)
}

fn take(broker: c_int, len: usize, max: usize) -> (c_int, Vec<iovec>) {
    let mut slots = vec![NONE; max];
    (unsafe { smbd_broker_take_slots(broker, len, slots.as_mut_ptr(), max) }, slots)
}

#[test]
fn what_is_no_handle_or_the_other_kind_of_one_is_an_error_and_so_is_closing_twice() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, _end) = connected(broker, &mut owner);
    for fd in [-1, 0, 2, 1_000_000] {
        assert_eq!(smbd_broker_close(fd), -libc::EBADF);
        assert_eq!(smbd_broker_listen(fd, 1), -libc::EBADF);
        assert_eq!(event(fd, 0).0, -libc::EBADF);
        assert_eq!(take(fd, 1, 1).0, -libc::EBADF);
        assert_eq!(unsafe { smbd_broker_attach(broker, fd.min(-1), null()) }, -libc::EINVAL);
    }
    assert_eq!(smbd_broker_listen(connection, 1), -libc::ENOTSOCK);
    assert_eq!(smbd_broker_flush(broker, 0), -libc::ENOTSOCK);
    assert_eq!(why(), "this is a broker, not a connection");
    assert_eq!(smbd_broker_close(connection), 0);
    assert_eq!(smbd_broker_close(connection), -libc::EBADF);
    assert_eq!(event(connection, 0).0, -libc::EBADF);
    assert_eq!(smbd_broker_close(broker), 0);
    assert_eq!(smbd_broker_close(broker), -libc::EBADF);
    assert!(owner.is_gone());
}

#[test]
fn null_pointers_and_arguments_that_are_not_valid_are_errors() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, _end) = connected(broker, &mut owner);
    unsafe {
        assert_eq!(smbd_broker_connect(null(), c"x".as_ptr()), -libc::EINVAL);
        assert_eq!(smbd_broker_connect(c"/nowhere/at/all".as_ptr(), c"x".as_ptr()), -libc::ENOENT);
        assert_eq!(smbd_broker_connect(c"/x".as_ptr(), c"\xFF".as_ptr()), -libc::EILSEQ);
        assert_eq!(smbd_broker_set_parameters(broker, null()), -libc::EINVAL);
        assert_eq!(smbd_broker_set_client_guid(broker, null(), 1), -libc::EINVAL);
        assert_eq!(smbd_broker_set_client_guid(broker, [0; 16].as_ptr(), 1), -libc::EINVAL);
        assert_eq!(smbd_broker_event(connection, null_mut(), 0), -libc::EINVAL);
        assert_eq!(smbd_broker_recvmsg(connection, null_mut(), 0), -(libc::EINVAL as isize));
        assert_eq!(smbd_broker_sendmsg(connection, null()), -(libc::EINVAL as isize));
        assert_eq!(smbd_broker_take_slots(broker, 1, null_mut(), 1), -libc::EINVAL);
        assert_eq!(smbd_broker_give_slots(broker, null(), 1), -libc::EINVAL);
        assert_eq!(smbd_broker_rdma_read(connection, null(), null_mut()), -libc::EINVAL);
        let mut list = [iovec { iov_base: null_mut(), iov_len: 5 }];
        assert_eq!(smbd_broker_sendmsg(connection, &header(&mut list)), -(libc::EINVAL as isize));
        let endless = MessageHeader { msg_iovlen: usize::MAX, ..header(&mut list) };
        assert_eq!(smbd_broker_sendmsg(connection, &raw const endless), -(libc::EINVAL as isize));
    }
    assert_eq!(smbd_broker_set_session_id(broker, 0, 1), -libc::EINVAL);
    assert_eq!(take(broker, 0, 1).0, -libc::EINVAL);
    assert_eq!(take(broker, 65_537, 1).0, -libc::EINVAL);
    smbd_broker_close(connection);
    smbd_broker_close(broker);
}

#[test]
fn a_message_is_told_once_and_stays_until_there_is_room_for_all_of_it() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, mut end) = connected(broker, &mut owner);
    assert_eq!(event(connection, 0).0, 0);
    end.tell(&[Told::Received { remaining: 0, age: Age::PastRequest, bytes: b"message" }]);
    let (count, told) = event(connection, PATIENCE);
    assert_eq!(
        (count, told.kind, told.age, told.length),
        (1, SMBD_BROKER_MESSAGE, SMBD_BROKER_PAST_REQUEST, 7)
    );
    assert_eq!(event(connection, 0).0, 0);
    let (mut one, mut two) = ([0; 4], [0; 5]);
    let mut short = [piece(&mut one)];
    let mut message = header(&mut short);
    assert_eq!(unsafe { smbd_broker_recvmsg(connection, &raw mut message, 0) }, -(libc::EMSGSIZE as isize));
    assert_eq!((message.length, one), (7, [0; 4]));
    let mut pieces = [piece(&mut one), NONE, piece(&mut two)];
    let mut message = header(&mut pieces);
    assert_eq!(unsafe { smbd_broker_recvmsg(connection, &raw mut message, 0) }, 7);
    assert_eq!((message.age, &one, &two), (SMBD_BROKER_PAST_REQUEST, b"mess", b"age\0\0"));
    let mut message = header(&mut pieces);
    assert_eq!(unsafe { smbd_broker_recvmsg(connection, &raw mut message, 0) }, -(libc::EAGAIN as isize));
    // Messages that came before the end are there after it.
    end.tell(&[
        Told::Received { remaining: 0, age: Age::New, bytes: b"a" },
        Told::Lost { why: "over".into() },
    ]);
    assert_eq!(event(connection, PATIENCE).0, 1);
    assert_eq!((event(connection, PATIENCE).0, why().as_str()), (-libc::ECONNRESET, "over"));
    let mut message = header(&mut pieces);
    assert_eq!(unsafe { smbd_broker_recvmsg(connection, &raw mut message, 0) }, 1);
    assert_eq!((event(connection, 0).0, why().as_str()), (-libc::ECONNRESET, "over"));
    smbd_broker_close(connection);
    smbd_broker_close(broker);
}

#[test]
fn a_message_is_put_together_of_its_pieces_and_invalidates_its_token() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, mut end) = connected(broker, &mut owner);
    let (mut one, mut two) = (*b"mess", *b"age");
    let mut pieces = [piece(&mut one), piece(&mut two)];
    let mut message = header(&mut pieces);
    (message.msg_flags, message.remote_token) = (SMBD_BROKER_REMOTE_INVALIDATE, 5);
    assert_eq!(unsafe { smbd_broker_sendmsg(connection, &raw const message) }, 7);
    let mut seen = Vec::new();
    end.orders(&mut |order| seen.push(format!("{order:?}")));
    let bytes = b"message";
    assert_eq!(
        seen,
        [format!("Send {{ remaining: 0, invalidate: Some(Token(0x00000005)), bytes: {bytes:?} }}")]
    );
    message.msg_flags = 2;
    assert_eq!(unsafe { smbd_broker_sendmsg(connection, &raw const message) }, -(libc::EINVAL as isize));
    message.msg_flags = 0;
    for _ in 0..3 {
        assert_eq!(unsafe { smbd_broker_sendmsg(connection, &raw const message) }, 7);
    }
    assert_eq!(unsafe { smbd_broker_sendmsg(connection, &raw const message) }, -(libc::EAGAIN as isize));
    assert_eq!(smbd_broker_poll_events(connection), c_int::from(libc::POLLIN));
    end.tell(&[Told::Sent { count: 1 }]);
    assert_eq!(event(connection, PATIENCE).1.kind, SMBD_BROKER_SENT);
    assert_eq!(unsafe { smbd_broker_sendmsg(connection, &raw const message) }, 7);
    let mut long = vec![0; 100_001];
    let mut pieces = [piece(&mut long)];
    assert_eq!(unsafe { smbd_broker_sendmsg(connection, &header(&mut pieces)) }, -(libc::EMSGSIZE as isize));
    smbd_broker_close(connection);
    smbd_broker_close(broker);
}

#[test]
fn a_slot_is_of_one_side_at_a_time_and_what_is_none_is_refused() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, mut end) = connected(broker, &mut owner);
    let (count, slots) = take(broker, 65_537, 8);
    assert_eq!((count, slots[0].iov_len, slots[1].iov_len), (2, 65_536, 1));
    unsafe { slots[1].iov_base.cast::<u8>().write(0xA5) };
    let descriptors = [7_u64.to_le_bytes(), 0x0000_1000_0000_0009_u64.to_le_bytes()].concat();
    let transfer = |slots: &[iovec], len| Transfer {
        slots: slots.as_ptr(),
        slots_count: slots.len(),
        offset: 3,
        descriptors: descriptors.as_ptr().cast(),
        descriptors_length: len,
    };
    let write = |slots: &[iovec], len| unsafe {
        let mut tag = 0;
        (smbd_broker_rdma_write(connection, &transfer(slots, len), &raw mut tag), tag)
    };
    let give = |slots: &[iovec]| unsafe { smbd_broker_give_slots(broker, slots.as_ptr(), slots.len()) };
    let elsewhere = iovec { iov_base: slots[0].iov_base.wrapping_byte_add(1), iov_len: 1 };
    assert_eq!(write(&[elsewhere], 16).0, -libc::EFAULT);
    assert_eq!(write(&[iovec { iov_len: 65_537, ..slots[0] }], 16).0, -libc::EINVAL);
    assert_eq!(write(&[slots[0], slots[0]], 16).0, -libc::EINVAL);
    assert_eq!(write(&slots[..2], 15).0, -libc::EINVAL);
    assert_eq!(write(&slots[..2], 0).0, -libc::EINVAL);
    let (started, tag) = write(&slots[..2], 16);
    assert_eq!(started, 0);
    let mut slot = 0;
    end.orders(&mut |order| {
        let Command::Rdma { tag: told, transfer } = order else { panic!("{order:?}") };
        assert_eq!((told, transfer.direction, transfer.offset), (tag, Direction::Write, 3));
        let remote = transfer.remote[0];
        assert_eq!((remote.offset, remote.token.0, remote.length), (7, 9, 0x1000));
        slot = transfer.areas[1].slot;
    });
    let (file, at) = owner.place(slot);
    let mut byte = [0];
    let file = std::fs::File::from(file.try_clone().unwrap());
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, at).unwrap();
    assert_eq!(byte, [0xA5]);
    assert_eq!((give(&slots[..2]), write(&slots[..1], 16).0), (-libc::EBUSY, -libc::EBUSY));
    end.tell(&[Told::RdmaDone { tag, is_success: true }]);
    let (_, done) = event(connection, PATIENCE);
    assert_eq!((done.kind, done.tag, done.is_success), (SMBD_BROKER_RDMA_DONE, tag, 1));
    assert_eq!((give(&slots[..2]), give(&slots[..2])), (0, -libc::EINVAL));
    smbd_broker_close(connection);
    smbd_broker_close(broker);
}

#[test]
fn slots_of_a_connection_that_was_closed_come_back_when_its_transfer_has_ended() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, mut end) = connected(broker, &mut owner);
    let serving = thread::spawn(move || {
        owner.gives_memory();
        owner.gives_memory();
        owner
    });
    let (count, slots) = take(broker, 32 * 65_536, 32);
    assert_eq!(count, 32);
    let owner = serving.join().unwrap();
    let descriptors = [0_u64.to_le_bytes(), 0x0010_0000_0000_0009_u64.to_le_bytes()].concat();
    let transfer = Transfer {
        slots: slots.as_ptr(),
        slots_count: 8,
        offset: 0,
        descriptors: descriptors.as_ptr().cast(),
        descriptors_length: 16,
    };
    assert_eq!(unsafe { smbd_broker_rdma_read(connection, &raw const transfer, null_mut()) }, 0);
    assert_eq!(smbd_broker_close(connection), 0);
    let mut tag = 0;
    end.orders(&mut |order| match order {
        Command::Rdma { tag: told, .. } => tag = told,
        order => panic!("{order:?}"),
    });
    let mut seen = Vec::new();
    end.orders(&mut |order| seen.push(format!("{order:?}")));
    assert_eq!(seen, ["Disconnect { within: 0 }"]);
    end.tell(&[Told::RdmaDone { tag, is_success: false }, Told::Lost { why: "over".into() }]);
    // All slots are known: nobody asks for memory.
    assert_eq!(take(broker, 8 * 65_536, 8).0, 8);
    // It is really over.
    assert!(!end.orders(&mut |order| panic!("{order:?}")));
    smbd_broker_close(broker);
    drop(owner);
}

#[test]
fn a_connection_goes_to_another_owner_by_its_file_descriptor() {
    let place = Place::listening();
    let (broker, mut owner) = attached(&place);
    let (connection, mut end) = connected(broker, &mut owner);
    end.tell(&[Told::Received { remaining: 0, age: Age::New, bytes: b"one" }]);
    assert_eq!(event(connection, PATIENCE).0, 1);
    let mut about = Newcomer {
        connection: 0,
        rule: 0,
        is_negotiated: 9,
        max_fragmented_send_size: 0,
        max_read_write_size: 0,
        peer: [0; SMBD_BROKER_PEER_LENGTH],
    };
    assert_eq!(unsafe { smbd_broker_detach(connection, &raw mut about) }, -libc::EBUSY);
    let mut bytes = [0; 3];
    let mut pieces = [piece(&mut bytes)];
    assert_eq!(unsafe { smbd_broker_recvmsg(connection, &mut header(&mut pieces), 0) }, 3);
    let given = unsafe { smbd_broker_detach(connection, &raw mut about) };
    assert_eq!((given, about.connection, about.rule, about.is_negotiated), (connection, 7, 3, 0));
    assert_eq!(unsafe { CStr::from_ptr(about.peer.as_ptr()) }, c"10.9.0.2:50000");
    assert_eq!(event(connection, 0).0, -libc::EBADF);

    let (other, mut owner) = attached(&place);
    let serving = thread::spawn(move || {
        let (tag, call, descriptors) = owner.call();
        assert_eq!((call, descriptors.len()), (Call::Attach, 1));
        let (own, theirs) = socket::pair().unwrap();
        owner.answer(tag, Reply::Attached { connection: 7 }, Some(theirs));
        drop(end);
        let mut own = End::new(own);
        own.tell(&[Told::Received { remaining: 0, age: Age::New, bytes: b"two" }]);
        own
    });
    let attached = unsafe { smbd_broker_attach(other, given, &raw const about) };
    assert!(attached >= 0 && attached != given, "{attached}: {}", why());
    // It stayed the program's.
    drop(unsafe { OwnedFd::from_raw_fd(given) });
    let _own = serving.join().unwrap();
    let (_, told) = event(attached, PATIENCE);
    assert_eq!((told.kind, told.length), (SMBD_BROKER_MESSAGE, 3));
    for fd in [attached, other, broker] {
        assert_eq!(smbd_broker_close(fd), 0);
    }
}
