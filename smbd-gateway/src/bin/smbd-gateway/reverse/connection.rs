//! One client, from its connection to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_core::{Config, Negotiated, Role};
use smbd_gateway::{Ending, RdmaServer, ReversePump, Tcp};
use smbd_smb2::relay::{Bytes, reverse};
use smbd_verbs::tokio::{Failure, Options, link};
use smbd_verbs::{Clock, VerbsConnection};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::shared::Shared;
use crate::connections::Names;
use crate::counters::Counters;
use crate::report::Kind;
use smbd_daemon::admission::Pass;

/// How often it is looked at what a connection does.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The time to give the client what still waits for it, and to end the server's connection in order.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// A client that was let in.
pub(super) struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) pass: Pass,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) address: SocketAddr,
}

impl Client {
    /// Serves it until its end.
    pub(super) async fn serve(self, stream: TcpStream) {
        let Self { shared, pass, stop, address } = self;
        match reach(stream, &shared).await {
            Ok((tcp, reached)) => through(tcp, reached, address, stop, &shared).await,
            Err(why) => {
                Counters::add(&shared.counters.failed, 1);
                shared.log.warning("client failed").with("client", address).with("why", why).write();
            }
        }
        drop(pass);
    }
}

/// A server that was reached.
struct Reached {
    rdma: RdmaServer,
    negotiated: Negotiated,
    server: SocketAddr,
    /// Whether the server can invalidate registrations.
    remote_invalidation: bool,
}

async fn connect(server: SocketAddr, config: &Config) -> Result<Reached, Failure> {
    let end = VerbsConnection::connect(server, None, config, Clock::start())?;
    let invalidation = end.remote_invalidation_later();
    let (link, negotiated) = link(Role::Initiator, end, config, Options::default()).await?;
    let rdma = RdmaServer::new(link);
    Ok(Reached { rdma, negotiated, server, remote_invalidation: invalidation.is_possible() })
}

/// Connects to the first server that answers.
async fn reach(stream: TcpStream, shared: &Shared) -> Result<(Tcp, Reached), String> {
    let tcp = Tcp::new(stream).map_err(|error| error.to_string())?;
    let (settings, mut all) = (&shared.settings, Vec::new());
    for server in &settings.servers {
        let why = match timeout(settings.connect, connect(*server, &settings.config)).await {
            Ok(Ok(reached)) => return Ok((tcp, reached)),
            Ok(Err(failure)) => format!("the server {server} cannot be reached: {failure}"),
            Err(_) => format!("the server {server} did not answer within {} s", settings.connect.as_secs()),
        };
        all.push(why);
    }
    Err(all.join("; "))
}

async fn through(
    tcp: Tcp,
    Reached { rdma, negotiated, server, remote_invalidation }: Reached,
    client: SocketAddr,
    mut stop: watch::Receiver<bool>,
    shared: &Shared,
) {
    Counters::add(&shared.counters.taken, 1);
    let named = |what| shared.log.line(what).with("client", client);
    named("client connected").with("server", server).write();
    let device = shared.settings.device;
    // A port of RDMA is no help in finding a connection.
    let entry = shared.connections.add(Names { client, server, server_port: 0 }, device);
    let params = reverse::Params {
        max_read_write_size: negotiated.max_read_write_size.min(shared.settings.params.max_read_write_size),
        max_fragmented_send_size: negotiated.max_fragmented_send_size,
        remote_invalidation,
        ..shared.settings.params
    };
    let config = match reverse::Config::new(&params) {
        Ok(config) => config,
        Err(error) => {
            named("client ended").with("why", error).write();
            return;
        }
    };
    let mut pump = ReversePump::new(&config, tcp, rdma, shared.settings.session);
    let (mut kind, mut bytes) = (Kind::default(), Bytes::default());
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = None;
    loop {
        tokio::select! {
            over = pump.run() => ending = Some(over),
            _ = look.tick() => {}
            () = stopped(&mut stop) => ending = Some(pump.drain(shared.settings.drain).await),
        }
        let now = Kind::of(pump.statistics(), pump.dialect(), pump.has_session());
        shared.counters.sessions(kind, now);
        shared.counters.bytes(bytes, pump.statistics().bytes);
        bytes = pump.statistics().bytes;
        entry.update(now, bytes, device.saturating_add(pump.buffer_bytes()));
        if now != kind && now.has_session && ending.is_none() {
            now.tell(named("client session")).write();
        }
        kind = now;
        if ending.is_some() {
            break;
        }
    }
    pump.flush(FLUSH_WITHIN).await;
    // The client's connection ends here.
    let rdma = pump.into_server();
    let line = kind.tell(named("client ended"));
    let line = line.number("bytes_in", bytes.from_client).number("bytes_out", bytes.to_client);
    let line = line.number("rdma_in", bytes.rdma_read).number("rdma_out", bytes.rdma_write);
    line.maybe("why", ending.as_ref().map(why)).write();
    // How it ends was said.
    let _ = rdma.close(CLOSE_WITHIN).await;
}

/// The end of a client in the words of who looks after the gateway.
fn why(ending: &Ending) -> String {
    match ending {
        Ending::Relay(smbd_smb2::relay::Reason::ClientEnded) => "the client has left".into(),
        other => other.to_string(),
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stops| *stops).await.is_err() {
        // Who could say so has gone; the program ends with it.
        std::future::pending::<()>().await;
    }
}
