use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::net::sockopt::set_socket_send_buffer_size;

use super::{PacketBuffer, PacketSocket, UnixPackets, cookie, memory, pair};
use crate::wire::PACKET_MAX;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap().block_on(work)
}

fn both() -> [UnixPackets; 2] {
    let (one, other) = pair().unwrap();
    [one, other].map(|socket| UnixPackets::new(socket).unwrap())
}

#[test]
fn packets_keep_their_bounds_and_bring_descriptors() {
    run(async {
        let [mut one, mut other] = both();
        let file = memory(8192).unwrap();
        poll_fn(|cx| one.poll_send(cx, b"first", None)).await.unwrap();
        poll_fn(|cx| one.poll_send(cx, b"second", Some(&file))).await.unwrap();
        let mut packet = PacketBuffer::new();
        assert!(poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap().is_empty());
        assert_eq!(packet.bytes(), b"first");
        let mut with = poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap();
        assert_eq!((packet.bytes(), with.len()), (&b"second"[..], 1));
        let (file, same) = (File::from(file), File::from(with.pop().unwrap()));
        file.write_all_at(b"shared", 4096).unwrap();
        let mut seen = [0; 6];
        same.read_exact_at(&mut seen, 4096).unwrap();
        assert_eq!(&seen, b"shared");
        drop(one);
        let end = poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    });
}

#[test]
fn what_a_side_has_written_is_read_although_it_was_closed_with_something_unread() {
    run(async {
        let [mut one, mut other] = both();
        poll_fn(|cx| other.poll_send(cx, b"unread", None)).await.unwrap();
        poll_fn(|cx| one.poll_send(cx, b"last", None)).await.unwrap();
        drop(one);
        let mut packet = PacketBuffer::new();
        poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap();
        assert_eq!(packet.bytes(), b"last");
        let end = poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    });
}

#[test]
fn the_longest_packet_passes_and_a_longer_one_is_an_error() {
    run(async {
        let [mut one, mut other] = both();
        let mut packet = PacketBuffer::new();
        for len in [PACKET_MAX, PACKET_MAX + 1] {
            poll_fn(|cx| one.poll_send(cx, &vec![7; len], None)).await.unwrap();
            let received = poll_fn(|cx| other.poll_receive(cx, &mut packet)).await;
            match received {
                Ok(_) => assert_eq!((len, packet.bytes().len()), (PACKET_MAX, PACKET_MAX)),
                Err(error) => assert_eq!((len, error.kind()), (PACKET_MAX + 1, io::ErrorKind::InvalidData)),
            }
        }
    });
}

#[test]
fn the_longest_packet_passes_where_the_system_gives_sockets_little_room() {
    run(async {
        let (one, other) = pair().unwrap();
        set_socket_send_buffer_size(&one, 4096).unwrap();
        let [mut one, mut other] = [one, other].map(|socket| UnixPackets::new(socket).unwrap());
        poll_fn(|cx| one.poll_send(cx, &[7; PACKET_MAX], None)).await.unwrap();
        let mut packet = PacketBuffer::new();
        poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap();
        assert_eq!(packet.bytes().len(), PACKET_MAX);
    });
}

/// Linux tells such a socket first that it was reset, and keeps what is in it.
#[test]
fn what_was_sent_before_a_socket_was_closed_is_read_although_something_was_unread_there() {
    run(async {
        let [mut one, mut other] = both();
        poll_fn(|cx| one.poll_send(cx, b"first", None)).await.unwrap();
        poll_fn(|cx| one.poll_send(cx, b"second", None)).await.unwrap();
        poll_fn(|cx| other.poll_send(cx, b"nobody reads it", None)).await.unwrap();
        drop(one);
        let mut packet = PacketBuffer::new();
        for expected in [&b"first"[..], b"second"] {
            poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap();
            assert_eq!(packet.bytes(), expected);
        }
        let end = poll_fn(|cx| other.poll_receive(cx, &mut packet)).await.unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    });
}

#[test]
fn memory_can_be_made_neither_shorter_nor_longer() {
    let file = File::from(memory(8192).unwrap());
    assert!(file.set_len(4096).is_err());
    assert!(file.set_len(16384).is_err());
    assert_eq!(file.metadata().unwrap().len(), 8192);
}

#[test]
fn a_socket_is_known_by_its_cookie_and_its_copies_have_the_same() {
    let (one, other) = pair().unwrap();
    let copy = one.try_clone().unwrap();
    assert_eq!(cookie(&one).unwrap(), cookie(&copy).unwrap());
    assert_ne!(cookie(&one).unwrap(), cookie(&other).unwrap());
    assert!(cookie(memory(1).unwrap().as_fd()).is_err());
}
