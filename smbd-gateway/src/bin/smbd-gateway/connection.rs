//! One client over SMB Direct, from its request to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_broker::client as broker;
use smbd_gateway::{Tcp, close};
use smbd_link::link::Owned;
use smbd_link::time::TokioTime;
use smbd_link::transport::{Limits, Transport};
use smbd_smb2::relay::{self, BufferId, Relay};
use smbd_verbs::tokio::{AsyncEnd, Incoming, Options};
use smbd_verbs::{Buffer, RejectReason};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::backends::Backend;
use crate::connections::Names;
use crate::counters::Counters;
use crate::passing::{CLOSE_WITHIN, pass};
use crate::servers::reach;
use crate::settings::{Settings, Shared};
use smbd_daemon::admission::Pass;
use smbd_daemon::trouble;

/// Fragments of messages that may wait for the relay.
const OPTIONS: Options = Options { messages_max: 256, bytes_max: 256 << 10, in_pieces: true };

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
        let settings = self.shared.core.settings();
        let client = incoming.peer_addr();
        let Some((stream, names)) = self.reach(client, &settings).await else {
            // The client may be gone by now.
            let _ = incoming.reject(RejectReason::Unwanted);
            return;
        };
        match connect(incoming, stream, &settings).await {
            Ok((link, tcp)) => {
                let device = settings.basics.device;
                self.through(link, tcp, (names, device), &settings).await;
            }
            Err(why) => self.failed(client, why),
        }
    }

    /// The same for a connection that a broker has.
    pub(crate) async fn serve_brokered(mut self, connection: broker::Connection, client: SocketAddr) {
        let settings = self.shared.core.settings();
        let carried = broker::Carried::new(connection);
        let Some((stream, names)) = self.reach(client, &settings).await else {
            return give_back(carried).await;
        };
        match tcp(stream) {
            // Its device is the broker's.
            Ok(tcp) => self.through(carried, tcp, (names, 0), &settings).await,
            Err(why) => {
                self.failed(client, why);
                give_back(carried).await;
            }
        }
    }

    /// Connects it to a server; `None` if there is none, which was said.
    async fn reach(&self, client: SocketAddr, settings: &Settings) -> Option<(TcpStream, Names)> {
        match reach(&self.backend, client.ip(), settings.basics.connect).await {
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

    /// Moves messages and data until the end of one side, and ends both.
    async fn through<T: Transport<BufferId, Memory = Buffer>>(
        &mut self,
        transport: T,
        tcp: Tcp,
        named: (Names, u64),
        settings: &Settings,
    ) {
        let Limits { max_send, rdma, .. } = transport.limits();
        let params = relay::Params {
            max_read_write_size: rdma.map_or(0, |rdma| rdma.max_read_write),
            max_fragmented_size: max_send.min(settings.answer_max),
            ..settings.relay
        };
        let relay = relay::Config::new(&params).map(|config| Relay::new(&config));
        pass(&self.shared, &mut self.stop, named, relay, (transport, tcp)).await;
    }

    fn failed(&self, client: SocketAddr, why: String) {
        Counters::add(&self.shared.counters.failed, 1);
        self.shared.core.log().warning("client failed").with("client", client).with("why", why).write();
    }
}

/// Ends a connection of which nothing has become.
async fn give_back(carried: impl Transport<BufferId, Memory = Buffer>) {
    close(carried, CLOSE_WITHIN, TokioTime::start()).await;
}

fn tcp(stream: TcpStream) -> Result<Tcp, String> {
    Tcp::new(stream).map_err(|error| error.to_string())
}

async fn connect(
    incoming: Incoming,
    stream: TcpStream,
    settings: &Settings,
) -> Result<(Owned<AsyncEnd, BufferId>, Tcp), String> {
    let tcp = tcp(stream)?;
    let linked = incoming.link(&settings.config, OPTIONS).await;
    let (link, _) = linked.map_err(|failure| trouble::why(&failure))?;
    Ok((link, tcp))
}
