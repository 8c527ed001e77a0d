//! One client, from its request to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_broker::client as broker;
use smbd_core::Negotiated;
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_gateway::{self as gateway, Brokered, Ending, Pump, Rdma, Tcp};
use smbd_smb2::relay;
use smbd_verbs::tokio::{Incoming, Options};
use smbd_verbs::{Buffer, RejectReason};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::backends::Backend;
use crate::connections::Names;
use crate::counters::Counters;
use crate::report::Kind;
use crate::servers::reach;
use crate::settings::Settings;
use crate::shared::Shared;
use smbd_daemon::admission::Pass;
use smbd_daemon::trouble;

/// Fragments of messages that may wait for the relay.
const OPTIONS: Options = Options { messages_max: 256, bytes_max: 256 << 10, in_pieces: true };
/// How often it is looked at what a connection does.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The time to give the client what still waits for it, and to end its connection in order.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);
const CLOSE_WITHIN: Duration = Duration::from_secs(3);
/// The same for a connection that a broker has, in milliseconds.
const BROKER_CLOSE_WITHIN: u32 = 3000;

/// A client that was let in.
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    /// Held until it is over.
    pub(crate) _pass: Pass,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) backend: Arc<Backend>,
}

impl Client {
    /// Serves it until its end.
    pub(crate) async fn serve(mut self, incoming: Incoming) {
        let settings = self.shared.settings();
        let client = incoming.peer_addr();
        let Some((stream, names)) = self.reach(client, &settings).await else {
            // The client may be gone by now.
            let _ = incoming.reject(RejectReason::Unwanted);
            return;
        };
        match connect(incoming, stream, &settings).await {
            Ok((rdma, negotiated, tcp)) => {
                let limits = Limits {
                    max_read_write_size: negotiated.max_read_write_size,
                    max_fragmented_size: negotiated.max_fragmented_send_size,
                    device: settings.device,
                };
                let rdma = self.through(rdma, limits, tcp, names, &settings).await;
                // How it ends was said.
                let _ = rdma.close(CLOSE_WITHIN).await;
            }
            Err(why) => self.failed(client, why),
        }
    }

    /// The same for a connection that a broker has.
    pub(crate) async fn serve_brokered(mut self, connection: broker::Connection, client: SocketAddr) {
        let settings = self.shared.settings();
        let newcomer = connection.newcomer();
        let limits = Limits {
            max_read_write_size: newcomer.max_read_write_size,
            max_fragmented_size: newcomer.max_send_size,
            // Its device is the broker's.
            device: 0,
        };
        let mut client_side = Brokered::new(connection);
        if let Some((stream, names)) = self.reach(client, &settings).await {
            match tcp(stream) {
                Ok(tcp) => client_side = self.through(client_side, limits, tcp, names, &settings).await,
                Err(why) => self.failed(client, why),
            }
        }
        client_side.close(BROKER_CLOSE_WITHIN).await;
    }

    /// Connects it to a server; `None` if there is none, which was said.
    async fn reach(&self, client: SocketAddr, settings: &Settings) -> Option<(TcpStream, Names)> {
        match reach(&self.backend, client.ip(), settings.connect).await {
            Ok((stream, server)) => {
                let server_port = stream.local_addr().map_or(0, |address| address.port());
                Some((stream, Names { client, server, server_port }))
            }
            Err(why) => {
                self.failed(client, why);
                None
            }
        }
    }

    /// Moves messages and data until the end of one side. What is left of the client has to be closed.
    async fn through<C: gateway::Client<Memory = Buffer>>(
        &mut self,
        client_side: C,
        limits: Limits,
        tcp: Tcp,
        names: Names,
        settings: &Settings,
    ) -> C {
        let Self { shared, stop, .. } = self;
        Counters::add(&shared.counters.taken, 1);
        let Names { client, server, server_port } = names;
        let named =
            |what| shared.log().line(what).with("client", client).number("server_port", server_port.into());
        named("client connected").with("server", server).write();
        let entry = shared.connections.add(names, limits.device);
        let params = relay::Params {
            max_read_write_size: limits.max_read_write_size,
            max_fragmented_size: limits.max_fragmented_size.min(settings.answer_max),
            ..settings.relay
        };
        let config = match relay::Config::new(&params) {
            Ok(config) => config,
            Err(error) => {
                named("client ended").with("why", error).write();
                return client_side;
            }
        };
        let mut pump = Pump::new(&config, client_side, tcp, settings.session);
        let (mut kind, mut bytes) = (Kind::default(), relay::Bytes::default());
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ending = None;
        loop {
            tokio::select! {
                over = pump.run() => ending = Some(over),
                _ = look.tick() => {}
                () = stopped(stop) => ending = Some(pump.drain(shared.settings().drain).await),
            }
            let now = Kind::of(pump.statistics(), pump.dialect(), pump.has_session());
            shared.counters.sessions(kind, now);
            shared.counters.bytes(bytes, pump.statistics().bytes);
            bytes = pump.statistics().bytes;
            entry.update(now, bytes, limits.device.saturating_add(pump.buffer_bytes()));
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
        pump.into_client()
    }
    fn failed(&self, client: SocketAddr, why: String) {
        Counters::add(&self.shared.counters.failed, 1);
        self.shared.log().warning("client failed").with("client", client).with("why", why).write();
    }
}

/// What a client's connection carries.
struct Limits {
    max_read_write_size: u32,
    /// The longest message to the client.
    max_fragmented_size: u32,
    /// Bytes that it takes from its beginning on.
    device: u64,
}

fn tcp(stream: TcpStream) -> Result<Tcp, String> {
    Tcp::new(stream).map_err(|error| error.to_string())
}

async fn connect(
    incoming: Incoming,
    stream: TcpStream,
    settings: &Settings,
) -> Result<(Rdma, Negotiated, Tcp), String> {
    let tcp = tcp(stream)?;
    let linked = incoming.link(&settings.config, OPTIONS).await;
    let (link, negotiated) = linked.map_err(|failure| trouble::why(&failure))?;
    Ok((Rdma::new(link), negotiated, tcp))
}

/// The end of a client in the words of who looks after the gateway.
fn why(ending: &Ending) -> String {
    let Ending::Client(reason) = ending else { return ending.to_string() };
    let is = |other: CloseReason| *reason == other.to_string();
    if is(CloseReason::PeerClosed) {
        "the client has left".into()
    } else if is(CloseReason::Lost { reason: DisconnectReason::Unknown }) {
        "the client has left, or its connection was lost: this device does not tell".into()
    } else {
        ending.to_string()
    }
}

/// Ready when the gateway stops.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stops| *stops).await.is_err() {
        // Who could say so has gone; the program ends with it.
        std::future::pending::<()>().await;
    }
}
