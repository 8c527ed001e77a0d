//! The backend of the example under the library's connection, where it is easy to get wrong: cancelled calls, peers that vanish,
//! the end.

#[expect(dead_code, reason = "main parses the arguments of the test program")]
#[path = "../examples/async_tokio/main.rs"]
mod example;

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use example::{CLOSE_TIMEOUT, Connection, Failure, establish};
use smbd_core::Role;
use smbd_core::error::{CloseReason, SendError};
use smbd_link::Failure as Refused;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

fn block_on(test: impl Future<Output = Result<(), Failure>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await }).unwrap().unwrap();
}

/// A pair over a pipe that holds `room` bytes each way.
async fn pair(room: usize) -> Result<(Connection<DuplexStream>, Connection<DuplexStream>), Failure> {
    let (client, server) = duplex(room);
    tokio::try_join!(establish(Role::Initiator, client), establish(Role::Acceptor, server))
}

/// What a connection yields until it is over.
async fn all(mut connection: Connection<DuplexStream>) -> Result<(Vec<Bytes>, CloseReason), Failure> {
    let mut messages = Vec::new();
    while let Ok(message) = connection.recv().await {
        messages.push(message);
    }
    Ok((messages, connection.close(CLOSE_TIMEOUT).await?))
}

#[test]
fn the_example_gets_every_message_back_over_tcp() {
    for arguments in [&["async"][..], &["async", "--messages", "8", "--bytes", "1048576"]] {
        let options = example::Options::parse_from(arguments);
        block_on(example::run(&options));
    }
}

#[test]
fn a_send_that_is_given_up_was_not_queued_and_all_others_arrive() {
    block_on(async {
        // So narrow that every message takes many turns.
        let (client, server) = pair(100).await?;
        let receiving = tokio::spawn(all(server));
        let message = |n: u8| Bytes::from(vec![n; 1 + usize::from(n) * 50]);
        let mut sent = Vec::new();
        for n in 0..100 {
            // Given up at once, while the driver has no turn to take it, or after one turn.
            let patience = async {
                if n >= 40 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                result = client.send(message(n)) => { result?; sent.push(message(n)); }
                () = patience => {}
            }
        }
        client.send(message(100)).await?;
        sent.push(message(100));
        assert_eq!(client.close(CLOSE_TIMEOUT).await?, CloseReason::Local);
        let (received, _) = receiving.await??;
        assert_eq!(received, sent);
        assert!((1..101).contains(&sent.len()), "{} of 101 were sent", sent.len());
        Ok(())
    });
}

#[test]
fn everything_sent_before_a_close_arrives_although_the_program_is_slow_to_take_it() {
    block_on(async {
        let (client, server) = pair(1 << 16).await?;
        let messages: Vec<_> = (1..=200).map(|n| Bytes::from(vec![7; n])).collect();
        for message in &messages {
            client.send(message.clone()).await?;
        }
        let (ours, theirs) = tokio::try_join!(async { Ok(client.close(CLOSE_TIMEOUT).await?) }, async {
            tokio::task::yield_now().await;
            all(server).await
        })?;
        assert_eq!(ours, CloseReason::Local);
        assert_eq!(theirs, (messages, CloseReason::PeerClosed));
        Ok(())
    });
}

#[test]
fn what_can_never_be_sent_is_refused_and_the_connection_goes_on() {
    block_on(async {
        let (client, mut server) = pair(1 << 16).await?;
        assert_eq!(client.send(Bytes::new()).await, Err(SendError::Empty.into()));
        let long = Bytes::from(vec![0; (1 << 20) + 1]);
        assert!(matches!(client.send(long).await, Err(Refused::Send(SendError::TooLong { .. }))));
        client.send(Bytes::from_static(b"still here")).await?;
        assert_eq!(server.recv().await?, &b"still here"[..]);
        Ok(())
    });
}

#[test]
fn a_connection_that_is_dropped_ends_that_of_its_peer() {
    block_on(async {
        let (client, server) = pair(1 << 16).await?;
        let sender = server.sender().clone();
        drop(client);
        let (received, reason) = all(server).await?;
        assert_eq!((received, reason), (Vec::new(), CloseReason::PeerClosed));
        let late = sender.send(Bytes::from_static(b"too late")).await;
        assert_eq!(late, Err(Refused::Closed(CloseReason::PeerClosed)));
        Ok(())
    });
}

/// What becomes of an acceptor whose peer sends `bytes` and then nothing.
async fn accept_from(bytes: &[u8]) -> String {
    let (mut peer, server): (DuplexStream, DuplexStream) = duplex(1 << 16);
    peer.write_all(bytes).await.unwrap();
    establish(Role::Acceptor, server).await.map(drop).unwrap_err().to_string()
}

#[test]
fn a_peer_that_breaks_the_rules_is_told_apart_from_one_that_is_lost() {
    block_on(async {
        let huge = u32::MAX.to_le_bytes();
        assert_eq!(
            accept_from(&huge).await,
            "connection lost during negotiation: ended by the device of this side (3.1.7.1)"
        );
        let short = [&4_u32.to_le_bytes()[..], &[0; 4]].concat();
        assert_eq!(
            accept_from(&short).await,
            "peer broke the protocol: message of 4 bytes, at least 20 needed (3.1.5.6)"
        );
        Ok(())
    });
}
