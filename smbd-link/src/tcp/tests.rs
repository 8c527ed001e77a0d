use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadBuf, duplex};

use super::incoming::STEP;
use super::*;

type End = dyn Transport<(), Memory = NoRdma, Error = TcpError>;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The next message, or how the connection ended.
async fn next(tcp: &mut Tcp<DuplexStream>) -> Result<Vec<u8>, String> {
    let tcp: &mut End = tcp;
    poll_fn(|cx| {
        let is_over = tcp.poll_event(cx).is_ready();
        if let Some(piece) = tcp.try_recv() {
            return Poll::Ready(Ok(piece.bytes.to_vec()));
        }
        match tcp.closed() {
            Some(ending) => Poll::Ready(Err(crate::link::why(ending))),
            None => {
                assert!(!is_over);
                Poll::Pending
            }
        }
    })
    .await
}

fn send(tcp: &mut Tcp<DuplexStream>, message: impl Into<Bytes>) {
    let tcp: &mut End = tcp;
    tcp.send(message.into(), None);
}

/// Drives it once.
async fn drive(tcp: &mut Tcp<DuplexStream>) {
    poll_fn(|cx| {
        tcp.drive(cx);
        Poll::Ready(())
    })
    .await;
}

proptest! {
    #[test]
    fn messages_come_whole_wherever_the_stream_is_cut(
        lengths in prop::collection::vec(0..200_000_usize, 1..4), cuts in prop::collection::vec(1..70_000_usize, 1..6),
    ) {
        let messages: Vec<Vec<u8>> = lengths.iter().zip(1..).map(|(len, byte)| vec![byte; *len]).collect();
        let mut stream = Vec::new();
        for message in &messages {
            stream.extend_from_slice(&(message.len() as u32).to_be_bytes());
            stream.extend_from_slice(message);
        }
        let came = run(async {
            let (mut server, client) = duplex(50_000);
            let mut tcp = Tcp::over(client);
            let writer = tokio::spawn(async move {
                let mut rest = &stream[..];
                for cut in cuts.iter().cycle() {
                    if rest.is_empty() { break }
                    let (piece, others) = rest.split_at(rest.len().min(*cut));
                    server.write_all(piece).await.unwrap();
                    rest = others;
                }
            });
            let mut came = Vec::new();
            for _ in &messages { came.push(next(&mut tcp).await.unwrap()) }
            assert_eq!(next(&mut tcp).await.unwrap_err(), "closed by the peer (3.1.7.1)");
            writer.await.unwrap();
            came
        });
        prop_assert_eq!(came, messages);
    }

    #[test]
    fn a_stream_that_ends_within_a_message_says_how_much_is_missing(len in 1..100_u32, kept in 1..100_usize) {
        let mut stream = len.to_be_bytes().to_vec();
        stream.resize(4 + len as usize, 7);
        let kept = kept.min(stream.len() - 1);
        stream.truncate(kept);
        let missing = if kept < 4 { 4 - kept } else { 4 + len as usize - kept };
        let said = run(async {
            let (mut server, client) = duplex(1000);
            server.write_all(&stream).await.unwrap();
            drop(server);
            next(&mut Tcp::over(client)).await.unwrap_err()
        });
        prop_assert_eq!(said, TcpError::Cut { missing }.to_string());
    }
}

#[test]
fn a_length_beyond_the_limit_ends_the_connection_before_memory_is_taken() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        server.write_all(&(RECEIVE_MAX + 1).to_be_bytes()).await.unwrap();
        drop(server);
        let said = next(&mut tcp).await.unwrap_err();
        assert_eq!(
            said,
            "StreamProtocolLength is 2097153, and messages have 2097152 bytes at most here (MS-SMB2 2.1)"
        );
        assert_eq!(tcp.incoming.capacity(), 0);
        assert_eq!(next(&mut tcp).await.unwrap_err(), said, "it stays over");
    });
}

#[test]
fn a_promised_length_alone_takes_no_more_than_a_step_of_memory() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        server.write_all(&RECEIVE_MAX.to_be_bytes()).await.unwrap();
        server.write_all(&[1; 100]).await.unwrap();
        drive(&mut tcp).await;
        assert!(tcp.ended.is_none() && tcp.message.is_none());
        assert!(tcp.incoming.capacity() < 3 * STEP, "{}", tcp.incoming.capacity());
    });
}

#[test]
fn a_header_of_something_else_is_refused() {
    run(async {
        let (mut server, client) = duplex(1000);
        server.write_all(b"HTTP/1.1").await.unwrap();
        let said = next(&mut Tcp::over(client)).await.unwrap_err();
        assert_eq!(said, "StreamProtocolLength begins with 0x48, expected 0x00 (MS-SMB2 2.1)");
    });
}

#[test]
fn messages_leave_behind_their_lengths_and_more_than_enough_is_held_back() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        for message in [&b"head"[..], b"", b"data"] {
            send(&mut tcp, message);
        }
        drive(&mut tcp).await;
        let mut sent = [0; 20];
        server.read_exact(&mut sent).await.unwrap();
        assert_eq!(&sent, b"\0\0\0\x04head\0\0\0\0\0\0\0\x04data");
        let held = |tcp: &Tcp<DuplexStream>| Transport::<()>::waiting_bytes(tcp);
        assert_eq!(held(&tcp), 0);
        send(&mut tcp, vec![1; WAITING_MAX + 2001]);
        let is_ready = async |tcp: &mut Tcp<DuplexStream>| {
            poll_fn(|cx| Poll::Ready(Transport::<()>::poll_ready(tcp, cx).is_ready())).await
        };
        assert!(!is_ready(&mut tcp).await);
        // So much is written that less than the limit waits.
        let mut room = vec![0; 4000];
        server.read_exact(&mut room[..1000]).await.unwrap();
        assert!(!is_ready(&mut tcp).await);
        server.read_exact(&mut room[..1000]).await.unwrap();
        assert!(is_ready(&mut tcp).await, "{}", held(&tcp));
    });
}

#[test]
fn a_message_is_read_only_when_the_one_before_was_taken() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        server.write_all(b"\0\0\0\x01a\0\0\0\x01b").await.unwrap();
        drive(&mut tcp).await;
        drive(&mut tcp).await;
        assert_eq!(tcp.incoming.capacity(), 0);
        assert_eq!(next(&mut tcp).await.unwrap(), b"a");
        drop(server);
        assert_eq!(next(&mut tcp).await.unwrap(), b"b");
        next(&mut tcp).await.unwrap_err();
    });
}

#[test]
fn what_was_sent_leaves_before_a_connection_is_closed_and_nothing_behind_that() {
    run(async {
        let (mut server, client) = duplex(1 << 16);
        let mut tcp = Tcp::over(client);
        send(&mut tcp, &b"last"[..]);
        Transport::<()>::close(&mut tcp, Duration::ZERO);
        send(&mut tcp, &b"late"[..]);
        let end: &mut End = &mut tcp;
        let event = poll_fn(|cx| end.poll_event(cx)).await;
        assert!(matches!(event, Event::Ended(Ok(CloseReason::Local))), "{event:?}");
        let mut all = Vec::new();
        server.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"\0\0\0\x04last");
    });
}

#[test]
fn keep_alives_of_netbios_between_messages_are_dropped() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        server.write_all(b"\x85\0\0\0\x85\0\0\0\0\0\0\x04head\x85\0\0\0\0\0\0\x01d").await.unwrap();
        assert_eq!(next(&mut tcp).await.unwrap(), b"head");
        assert_eq!(next(&mut tcp).await.unwrap(), b"d");
        server.write_all(b"\x85\0\0\x01").await.unwrap();
        let said = next(&mut tcp).await.unwrap_err();
        assert_eq!(said, "StreamProtocolLength begins with 0x85, expected 0x00 (MS-SMB2 2.1)");
    });
}

#[test]
fn who_takes_no_messages_any_more_hears_that_the_peer_has_left_behind_many() {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (mut server, client) = duplex(1000);
    run(server.write_all(&b"\0\0\0\x03abc".repeat(20))).unwrap();
    drop(server);
    let mut tcp = Tcp::over(client);
    let end: &mut End = &mut tcp;
    end.ignore_messages();
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Arc::clone(&woken).into();
    while end.poll_event(&mut Context::from_waker(&waker)).is_pending() {
        assert!(!end.has_messages() && end.try_recv().is_none());
        assert!(woken.0.swap(false, Ordering::Relaxed), "it sleeps, and the peer has left");
    }
    assert_eq!(end.closed().map(crate::link::why).unwrap(), "closed by the peer (3.1.7.1)");
}

#[test]
fn what_a_peer_has_said_before_it_left_is_read_although_nothing_can_be_sent_any_more() {
    run(async {
        let (mut server, client) = duplex(1000);
        server.write_all(b"\0\0\0\x03one\0\0\0\x03two\0\0\0\x05three").await.unwrap();
        drop(server);
        let mut tcp = Tcp::over(client);
        send(&mut tcp, "a request");
        for said in ["one", "two", "three"] {
            assert_eq!(next(&mut tcp).await.as_deref(), Ok(said.as_bytes()));
            send(&mut tcp, "another");
        }
        assert_eq!(next(&mut tcp).await.unwrap_err(), "broken pipe");
    });
}

#[test]
fn a_stream_that_fails_although_the_peer_is_there_ends_its_connection_at_once() {
    /// Nothing comes, and nothing can be written.
    struct Failing;
    impl AsyncRead for Failing {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }
    impl AsyncWrite for Failing {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    let mut tcp = Tcp::over(Failing);
    let end: &mut End = &mut tcp;
    end.send("a request".into(), None);
    assert!(end.poll_event(&mut Context::from_waker(std::task::Waker::noop())).is_ready());
    assert_eq!(end.closed().map(crate::link::why).unwrap(), "out of memory");
}
