use std::future::poll_fn;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn next(tcp: &mut Tcp<DuplexStream>) -> Result<Vec<u8>, String> {
    let received = poll_fn(|cx| tcp.poll_receive(cx)).await;
    received.map(|it| it.message.to_vec()).map_err(|lost| lost.to_string())
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
            assert_eq!(next(&mut tcp).await.unwrap_err(), "the other side has closed the connection");
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
        prop_assert_eq!(said, Framing::Cut { missing }.to_string());
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
            "StreamProtocolLength is 2097153, and messages have 2097152 bytes at most here (2.1)"
        );
        assert_eq!(tcp.message.capacity(), 0);
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
        poll_fn(|cx| {
            assert!(tcp.poll_receive(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        assert!(tcp.message.capacity() < 3 * STEP, "{}", tcp.message.capacity());
    });
}

#[test]
fn a_header_of_something_else_is_refused() {
    run(async {
        let (mut server, client) = duplex(1000);
        server.write_all(b"HTTP/1.1").await.unwrap();
        let said = next(&mut Tcp::over(client)).await.unwrap_err();
        assert_eq!(said, "StreamProtocolLength begins with 0x48, expected 0x00 (2.1)");
    });
}

#[test]
fn both_parts_of_a_message_leave_behind_one_length_and_more_than_enough_is_held_back() {
    run(async {
        let (mut server, client) = duplex(1000);
        let mut tcp = Tcp::over(client);
        tcp.send([b"head", b"data"]);
        poll_fn(|cx| tcp.poll_ready(cx)).await.unwrap();
        let mut sent = [0; 12];
        server.read_exact(&mut sent).await.unwrap();
        assert_eq!(&sent, b"\0\0\0\x08headdata");
        tcp.send([&vec![1; WAITING_MAX + 1001], &[]]);
        poll_fn(|cx| {
            assert!(tcp.poll_ready(cx).is_pending());
            Poll::Ready(())
        })
        .await;
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
        assert_eq!(said, "StreamProtocolLength begins with 0x85, expected 0x00 (2.1)");
    });
}
