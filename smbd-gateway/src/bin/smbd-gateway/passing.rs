//! A connection from its two sides to their end, in either direction.

use std::fmt::Display;
use std::time::Duration;

use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_daemon::tasks::Basic;
use smbd_gateway::{Ending, Pump, Rewriting, Tcp, close};
use smbd_link::time::TokioTime;
use smbd_link::transport::Transport;
use smbd_smb2::relay::{BufferId, Bytes, Reason};
use smbd_verbs::Buffer;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::basics::Basics;
use crate::connections::{Connection, Names};
use crate::counters::Counters;
use crate::report::Kind;
use crate::shared::Shared;

/// How often it is looked at what a connection does.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The time to give the client what still waits for it, and to end the connection over SMB Direct in order.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// Moves messages and data until the end of one side, and ends both. `device` is the number of bytes that the connection takes from its
/// beginning on.
pub(crate) async fn pass<S, R, T>(
    shared: &Shared<S>,
    stop: &mut watch::Receiver<bool>,
    (names, device): (Names, u64),
    rewriting: Result<R, impl Display>,
    (transport, tcp): (T, Tcp),
) where
    S: AsRef<Basics> + Basic + Send + Sync + 'static,
    R: Rewriting,
    T: Transport<BufferId, Memory = Buffer>,
{
    Counters::add(&shared.counters.taken, 1);
    let Names { client, server, server_port } = names;
    let named = |what| {
        let line = shared.core.log().line(what).with("client", client);
        // A port of RDMA is no help in finding a connection.
        if server_port == 0 { line } else { line.number("server_port", server_port.into()) }
    };
    named("client connected").with("server", server).write();
    let (kind, bytes) = (Kind::default(), Bytes::default());
    let entry = shared.connections.add(Connection { names, kind, bytes, memory: device });
    let rewriting = match rewriting {
        Ok(rewriting) => rewriting,
        Err(error) => {
            named("client ended").with("why", error).write();
            drop(tcp);
            close(transport, CLOSE_WITHIN, TokioTime::start()).await;
            return;
        }
    };
    let session = (*shared.core.settings()).as_ref().session;
    let mut pump = Pump::new(rewriting, transport, tcp, session);
    let (mut kind, mut bytes) = (kind, bytes);
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = None;
    loop {
        tokio::select! {
            over = pump.run() => ending = Some(over),
            _ = look.tick() => {}
            () = stopped(stop) => {
                let drain = (*shared.core.settings()).as_ref().drain;
                ending = Some(pump.drain(drain).await);
            }
        }
        let now = Kind::of(pump.statistics(), pump.dialect(), pump.has_session());
        shared.counters.sessions(kind, now);
        shared.counters.bytes(bytes, pump.statistics().bytes);
        bytes = pump.statistics().bytes;
        let memory = device.saturating_add(pump.buffer_bytes());
        entry.update(|seen| *seen = Connection { names, kind: now, bytes, memory });
        if now != kind && now.has_session && ending.is_none() {
            now.tell(named("client session")).write();
        }
        kind = now;
        if ending.is_some() {
            break;
        }
    }
    pump.flush(FLUSH_WITHIN).await;
    let refusals = pump.statistics().refusals.total();
    let line = kind.tell(named("client ended"));
    let line = line.number("bytes_in", bytes.from_client).number("bytes_out", bytes.to_client);
    let line = line.number("rdma_in", bytes.rdma_read).number("rdma_out", bytes.rdma_write);
    let line = if refusals > 0 { line.number("refused_requests", refusals) } else { line };
    line.maybe("why", ending.as_ref().map(why)).write();
    drop(entry);
    // How it ends was said.
    pump.close(CLOSE_WITHIN).await;
}

/// The end of a client in the words of who looks after the gateway.
fn why(ending: &Ending) -> String {
    let has_left = match ending {
        Ending::Client(reason) if *reason == CloseReason::PeerClosed.to_string() => true,
        Ending::Client(reason) => {
            let unknown = CloseReason::Lost { reason: DisconnectReason::Unknown };
            if *reason == unknown.to_string() {
                return "the client has left, or its connection was lost: this device does not tell".into();
            }
            false
        }
        other => *other == Ending::Relay(Reason::ClientEnded),
    };
    if has_left { "the client has left".into() } else { ending.to_string() }
}

/// Ready when the gateway stops.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stops| *stops).await.is_err() {
        // Who could say so has gone; the program ends with it.
        std::future::pending::<()>().await;
    }
}
