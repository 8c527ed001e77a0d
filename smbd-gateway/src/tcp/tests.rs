use std::future::poll_fn;
use std::task::{Context, Waker};

use smbd_verbs::Buffer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::Tcp;
use crate::pump::{Part, Stream};

async fn pair() -> (Tcp, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (Tcp::new(stream).unwrap(), listener.accept().await.unwrap().0)
}

#[tokio::test]
async fn a_header_and_a_part_of_a_buffer_leave_together() {
    let (mut tcp, mut peer) = pair().await;
    let memory = Buffer::new(8).unwrap();
    memory.fill(0, b"12345678").unwrap();
    let part = || Part { memory: &memory, offset: 2, len: 5 };
    let sent = poll_fn(|cx| tcp.poll_write_from(cx, b"header ", part())).await.unwrap();
    assert_eq!(sent, 12);
    let mut got = [0; 12];
    peer.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"header 34567");
}

#[tokio::test]
async fn a_part_of_a_buffer_is_filled_before_what_is_behind_it() {
    let (mut tcp, mut peer) = pair().await;
    let (memory, mut behind) = (Buffer::new(8).unwrap(), [0; 100]);
    peer.write_all(b"34567, and then").await.unwrap();
    let part = || Part { memory: &memory, offset: 2, len: 5 };
    let got = poll_fn(|cx| tcp.poll_read_into(cx, part(), &mut behind)).await.unwrap();
    let mut all = [1; 8];
    memory.read(0, &mut all).unwrap();
    assert_eq!((got, &all), (15, b"\0\x0034567\0"));
    assert_eq!(behind[..10], *b", and then");
    drop(peer);
    assert_eq!(poll_fn(|cx| tcp.poll_read_into(cx, part(), &mut behind)).await.unwrap(), 0);
}

/// Whether a call would be made now.
fn is_readable(tcp: &Tcp) -> bool {
    tcp.0.poll_read_ready(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn behind_a_call_that_has_received_all_there_was_none_is_made_that_finds_nothing() {
    let (mut tcp, mut peer) = pair().await;
    let (memory, mut behind) = (Buffer::new(8).unwrap(), [0; 4]);
    let part = || Part { memory: &memory, offset: 0, len: 8 };
    for _ in 0..2 {
        peer.write_all(b"fewer bytes").await.unwrap();
        let mut got = 0;
        while got < 11 {
            got += poll_fn(|cx| tcp.poll_read_into(cx, part(), &mut behind)).await.unwrap();
        }
        assert_eq!((got, is_readable(&tcp)), (11, false));
    }
    // A full one says nothing about what is left.
    peer.write_all(b"just as many, and more").await.unwrap();
    assert_eq!(poll_fn(|cx| tcp.poll_read_into(cx, part(), &mut behind)).await.unwrap(), 12);
    assert!(is_readable(&tcp));
    assert_eq!(poll_fn(|cx| tcp.poll_read_into(cx, part(), &mut behind)).await.unwrap(), 10);
}
