//! A server that says nothing any more, from each of its messages on: in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use smbd_client::Tcp;
use smbd_client::{Error, Remote, Settings};
use smbd_smb2::wire::{Flags, NtStatus, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::Instant;

use super::server::{Host, PASSWORD, login, settings};

const LIMIT: Duration = Duration::from_secs(3);
/// How long a connection may take to end when its last handle is gone.
const CLOSE: Duration = Duration::from_secs(1);

/// What is said in the place of an answer.
type Instead = fn(&[u8]) -> Option<Vec<u8>>;

const NOTHING: Instead = |_| None;

/// The answer that the server works on the request (2.2.1.1, 2.2.2).
fn pending(answer: &[u8]) -> Option<Vec<u8>> {
    let mut interim = answer[..header::LEN].to_vec();
    header::field::STATUS.set(&mut interim, NtStatus::PENDING).unwrap();
    header::field::FLAGS.set(&mut interim, Flags::SERVER_TO_REDIR.with(Flags::ASYNC_COMMAND, true)).unwrap();
    header::async_field::ASYNC_ID.set(&mut interim, 7).unwrap();
    interim.extend([9, 0, 0, 0, 0, 0, 0, 0, 0]);
    Some(interim)
}

/// A stream to a server that sends so many messages more, over all of its connections, and then keeps them open and says something else
/// in their place.
fn stream(host: &Host, number: u64, left: &Arc<AtomicUsize>, instead: Instead) -> DuplexStream {
    let (here, at_proxy) = duplex(1 << 18);
    let (at_server, there) = duplex(1 << 18);
    tokio::spawn(host.clone().serve(there, number));
    let (mut from_client, mut to_client) = tokio::io::split(at_proxy);
    let (mut from_server, mut to_server) = tokio::io::split(at_server);
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let left = Arc::clone(left);
    tokio::spawn(async move {
        let mut header = [0; 4];
        while from_server.read_exact(&mut header).await.is_ok() {
            let mut message = vec![0; u32::from_be_bytes(header) as usize];
            from_server.read_exact(&mut message).await.unwrap();
            let take = |left: usize| left.checked_sub(1);
            if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                let Some(other) = instead(&message) else { continue };
                message = other;
            }
            let framed = [&(message.len() as u32).to_be_bytes()[..], &message].concat();
            if to_client.write_all(&framed).await.is_err() {
                break;
            }
        }
    });
    here
}

/// The time that the last step has taken, and its name.
struct Step(&'static str, Instant);

impl Step {
    fn next(&mut self, name: &'static str) {
        *self = Self(name, Instant::now());
    }
}

/// All that a client waits for, once each.
async fn everything(
    remote: Remote,
    second: impl FnOnce() -> DuplexStream,
    step: &mut Step,
) -> Result<(), Error> {
    step.next("NEGOTIATE and SESSION_SETUP");
    let session = login(&remote, PASSWORD).await?;
    step.next("TREE_CONNECT");
    let share = session.connect("data").await?;
    step.next("another connection");
    let (channel, driver) = session.channel(Tcp::over(second()))?;
    tokio::spawn(driver);
    // This server has no place where its connections find each other's sessions: it refuses, and the session goes on.
    match channel.bind().await {
        Err(Error::Status(NtStatus::USER_SESSION_DELETED)) => {}
        other => other?,
    }
    step.next("CREATE of a directory");
    share.mkdir("d").await?;
    step.next("CREATE");
    let file = share.create("d/f").await?;
    step.next("WRITE");
    file.write_at(0, vec![7; 300_000].into()).await?;
    step.next("FLUSH");
    file.flush().await?;
    step.next("SET_INFO");
    file.set_size(200_000).await?;
    step.next("CLOSE");
    file.close().await?;
    step.next("QUERY_DIRECTORY");
    share.list("d").await?;
    let file = share.open("d/f").await?;
    step.next("READ");
    file.read_at(0, 1000).await?;
    drop(file);
    step.next("rename");
    share.rename("d/f", "d/g", true).await?;
    step.next("remove");
    share.remove("d/g").await?;
    step.next("TREE_DISCONNECT");
    share.disconnect().await?;
    step.next("LOGOFF");
    session.logoff().await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_at_any_of_its_messages_is_given_up_in_time() {
    let settings = Settings { timeout: LIMIT, channels: 2, ..settings() };
    let mut last = String::new();
    for messages in 0..100 {
        let (host, left) =
            (Host::new(|params| params.channels_max = 2), Arc::new(AtomicUsize::new(messages)));
        let (remote, driver) = Remote::over(Tcp::over(stream(&host, 1, &left, NOTHING)), &settings).unwrap();
        let driver = tokio::spawn(driver);
        let mut step = Step("", Instant::now());
        let result = everything(remote, || stream(&host, 2, &left, NOTHING), &mut step).await;
        let Step(name, began) = step;
        let took = began.elapsed();
        // A step is one request, or a few, of which the last is not answered.
        assert!(took <= 2 * LIMIT, "{name}, {messages} messages: given up after {took:?}");
        let began = Instant::now();
        driver.await.unwrap();
        assert!(began.elapsed() <= CLOSE, "{name}, {messages} messages: closed after {:?}", began.elapsed());
        if result.is_ok() {
            assert!(messages >= 28, "{messages} messages are not all that are waited for");
            return;
        }
        last = format!("{name}: {result:?}");
    }
    panic!("it never ends well: {last}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_server_works_on_waits_four_times_as_long() {
    let settings = Settings { timeout: LIMIT, ..settings() };
    let host = Host::new(|_| {});
    for (instead, waits) in [(NOTHING, LIMIT), (pending, 4 * LIMIT)] {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let (remote, driver) = Remote::over(Tcp::over(stream(&host, 1, &left, instead)), &settings).unwrap();
        tokio::spawn(driver);
        let share = login(&remote, PASSWORD).await.unwrap().connect("data").await.unwrap();
        let file = share.create("f").await.unwrap();
        left.store(0, Ordering::Relaxed);
        let began = Instant::now();
        let error = file.flush().await.unwrap_err();
        assert_eq!(began.elapsed().as_secs(), waits.as_secs(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_while_nothing_is_asked_of_it_is_missed() {
    let host = Host::new(|_| {});
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let (remote, driver) = Remote::over(Tcp::over(stream(&host, 1, &left, NOTHING)), &settings()).unwrap();
    let driver = tokio::spawn(driver);
    let session = login(&remote, PASSWORD).await.unwrap();
    left.store(0, Ordering::Relaxed);
    let began = Instant::now();
    driver.await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(120), "{:?}", began.elapsed());
    assert!(matches!(session.logoff().await, Err(Error::Ended(_))));
}
