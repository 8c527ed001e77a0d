//! Both sides of connections in tokio, with nothing but the library.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::{CloseReason, ConnectError, ConnectReason};
use smbd_core::{Access, Config, Params};
use smbd_tools::exercise::pattern;
use smbd_verbs::tokio::{Connection, Failure as Refused, Listener, Options, connect};
use smbd_verbs::{Buffer, ListenOptions, RejectReason};
use tokio::task::JoinSet;

use super::calls::runtime;
use super::pair::{buffer_of, contents};
use super::ports;
use super::resources::Leaks;
use crate::case::{Context, Failure, Outcome};
use crate::device;
use crate::expect::same;
use crate::patience::PATIENCE;
use crate::settings;

/// Messages of the echo, of which every third is long.
const MESSAGES: usize = 300;
const CONNECTIONS: usize = 64;
/// As many are set up at a time: siw gives an attempt up after 10 s.
const CONNECTING: usize = 2;
const LEN: u32 = 100_000;

fn block_on(test: impl Future<Output = Outcome>) -> Outcome {
    runtime().block_on(async {
        let late = |_| format!("it took longer than {} s", PATIENCE.as_secs());
        tokio::time::timeout(2 * PATIENCE, test).await.map_err(late)?
    })
}

/// Both sides of a connection.
async fn pair(context: &Context, config: &Config, options: Options) -> Result<[Connection; 2], Failure> {
    let at = ports::fresh(context);
    let mut listener = Listener::bind(at, ListenOptions::default())?;
    let accepting = async { Ok(listener.accept().await?.accept_with(config, options).await?) };
    let connecting = async { Ok::<_, Failure>(connect(at, config).await?) };
    let (client, server) = tokio::try_join!(connecting, accepting)?;
    Ok([client, server])
}

/// Returns every message until the peer closes. The last one may have come from a peer that is gone by now.
async fn serve(mut connection: Connection) -> Result<CloseReason, Refused> {
    loop {
        let returned = match connection.recv().await {
            Ok(message) => connection.send(message).await,
            Err(failure) => Err(failure),
        };
        match returned {
            Ok(()) => {}
            Err(Refused::Closed(_)) => return connection.close(PATIENCE).await,
            Err(failure) => return Err(failure),
        }
    }
}

fn message(nth: usize) -> Bytes {
    pattern(nth as u64, if nth.is_multiple_of(3) { 1 + nth * 1000 } else { 1 + nth })
}

/// The server keeps little, so its credits hold the client back; the client gives calls up all the time.
pub(super) fn echo(context: &Context) -> Outcome {
    let told = device::told_of_a_close(device::quirks(context.address)?);
    let leaks = Leaks::watch(context)?;
    let config = Config::try_from(settings::windows())?;
    let text = block_on(async {
        let little = Options { messages_max: 2, bytes_max: 10_000, ..Options::default() };
        let [client, server] = pair(context, &config, little).await?;
        let serving = tokio::spawn(serve(server));
        let (sender, mut receiver) = client.split();
        let sends = sender.clone();
        let sending = tokio::spawn(async move {
            for nth in 0..MESSAGES {
                sends.send(message(nth)).await?;
            }
            Ok::<_, Refused>(())
        });
        let mut given_up = 0;
        for nth in 0..MESSAGES {
            let got = loop {
                match tokio::time::timeout(Duration::from_micros(200), receiver.recv()).await {
                    Ok(got) => break got?,
                    Err(_) => given_up += 1,
                }
            };
            same("the message that came back", got == message(nth), true)?;
        }
        sending.await??;
        sender.probe().await?;
        same("the client's end", sender.close(PATIENCE).await?, CloseReason::Local)?;
        same("the server's end", serving.await??, told)?;
        Ok(format!("{MESSAGES} messages came back, receiving was given up {given_up} times"))
    })?;
    leaks.none(context)?;
    Ok(text)
}

/// Messages, RDMA both ways and a registration on each.
pub(super) fn many(context: &Context) -> Outcome {
    let told = device::told_of_a_close(device::quirks(context.address)?);
    let params = Params {
        receive_credit_max: 32,
        borrowed_max: 4,
        send_slots: 32,
        passive_negotiation_timeout: PATIENCE,
        ..settings::windows()
    };
    let config = Config::try_from(params)?;
    let at = ports::fresh(context);
    block_on(async {
        let mut listener = Listener::bind(at, ListenOptions::default())?;
        let mut tasks = JoinSet::new();
        let (all_up, places) = (Arc::new(tokio::sync::Barrier::new(CONNECTIONS)), CONNECTING);
        let places = Arc::new(tokio::sync::Semaphore::new(places));
        for _ in 0..CONNECTIONS {
            tasks.spawn(work(at, config.clone(), Arc::clone(&places), Arc::clone(&all_up)));
        }
        for _ in 0..CONNECTIONS {
            let (incoming, config) = (listener.accept().await?, config.clone());
            tasks.spawn(async move { answer(incoming.accept(&config).await?, told).await });
        }
        while let Some(over) = tasks.join_next().await {
            over??;
        }
        same("connections let in", listener.counters().taken, CONNECTIONS as u64)?;
        Ok(format!("{CONNECTIONS} connections with messages and RDMA"))
    })
}

/// A client: shows the server a buffer, which the server fills from another that it reads.
async fn work(
    at: SocketAddr,
    config: Config,
    places: Arc<tokio::sync::Semaphore>,
    all_up: Arc<tokio::sync::Barrier>,
) -> Result<(), Failure> {
    let place = places.acquire().await?;
    let mut connection = connect(at, &config).await?;
    drop(place);
    all_up.wait().await;
    let (source, sink) = (buffer_of(7, LEN)?, Buffer::new(LEN)?);
    let readable = connection.register(&source, Access::Read).await?;
    let writable = connection.register(&sink, Access::Write).await?;
    let mut both = Vec::new();
    for descriptor in readable.descriptors.iter().chain(&writable.descriptors) {
        both.extend_from_slice(&descriptor.offset.to_le_bytes());
        both.extend_from_slice(&descriptor.token.0.to_le_bytes());
    }
    connection.send(both.into()).await?;
    connection.recv().await?;
    connection.deregister(&readable).await?;
    connection.deregister(&writable).await?;
    same("what the server copied", contents(&sink)? == contents(&source)?, true)?;
    same("the client's end", connection.close(PATIENCE).await?, CloseReason::Local)
}

async fn answer(mut connection: Connection, told: CloseReason) -> Result<(), Failure> {
    let shown = connection.recv().await?;
    let (buffer, mut remotes) = (Buffer::new(LEN)?, Vec::new());
    for bytes in shown.chunks_exact(12) {
        let (offset, token) = bytes.split_at(8);
        remotes.push(Arc::<[_]>::from([smbd_core::BufferDescriptorV1 {
            offset: u64::from_le_bytes(offset.try_into()?),
            token: smbd_core::Token(u32::from_le_bytes(token.try_into()?)),
            length: LEN,
        }]));
    }
    let [from, to] = &remotes[..] else { return Err(format!("{} descriptors", remotes.len()).into()) };
    connection.rdma_read(&buffer, from, 0, LEN).await?;
    connection.rdma_write(&buffer, to, 0, LEN).await?;
    connection.send(Bytes::from_static(b"copied")).await?;
    let end = connection.recv().await;
    same("the end at the server", end.map(drop), Err(Refused::Closed(told)))
}

/// Whatever ends a connection, both sides are told, and nothing is left.
pub(super) fn ends(context: &Context) -> Outcome {
    let told = device::told_of_a_close(device::quirks(context.address)?);
    let leaks = Leaks::watch(context)?;
    let config = Config::try_from(settings::windows())?;
    block_on(async {
        // Dropped.
        let [client, server] = pair(context, &config, Options::default()).await?;
        client.send(Bytes::from_static(b"sent")).await?;
        client.flush().await?;
        drop(client);
        same("after a drop", serve(server).await?, told)?;
        // Refused by the upper layer, and by nobody.
        let at = ports::fresh(context);
        let mut listener = Listener::bind(at, ListenOptions::default())?;
        let (refused, _) = tokio::join!(connect(at, &config), async {
            listener.accept().await.and_then(|incoming| incoming.reject(RejectReason::Unwanted))
        });
        let refusal = Refused::Connect(ConnectError::Connect(ConnectReason::Refused));
        same("a refusal", refused.map(drop), Err(refusal.clone()))?;
        drop(listener);
        same("where nobody listens", connect(at, &config).await.map(drop), Err(refusal))?;
        // Given up while it comes up: an acceptor that never answers.
        let at = ports::fresh(context);
        let _silent = Listener::bind(at, ListenOptions::default())?;
        let attempt = tokio::time::timeout(Duration::from_millis(100), connect(at, &config)).await;
        same("an attempt that was given up", attempt.is_err(), true)?;
        Ok(String::new())
    })?;
    leaks.none(context)?;
    Ok("a drop, a refusal, nobody there, an attempt given up".to_owned())
}
