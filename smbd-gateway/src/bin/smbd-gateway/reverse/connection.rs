//! One client over TCP, from its connection to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_core::{Config, Role};
use smbd_gateway::Tcp;
use smbd_link::link::Owned;
use smbd_link::transport::{Limits, Transport};
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::{self, Reverse};
use smbd_verbs::tokio::{AsyncEnd, Failure, Options, link};
use smbd_verbs::{Clock, VerbsConnection};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Shared;
use super::settings::Settings;
use crate::connections::Names;
use crate::counters::Counters;
use crate::passing::pass;
use smbd_daemon::admission::Pass;

/// A client that was let in.
pub(super) struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) pass: Pass,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) address: SocketAddr,
}

type Linked = Owned<AsyncEnd, BufferId>;

impl Client {
    /// Serves it until its end.
    pub(super) async fn serve(mut self, stream: TcpStream) {
        let settings = self.shared.core.settings();
        match reach(stream, &settings).await {
            Ok((tcp, link, server)) => self.through(tcp, link, server, &settings).await,
            Err(why) => {
                Counters::add(&self.shared.counters.failed, 1);
                let line = self.shared.core.log().warning("client failed").with("client", self.address);
                line.with("why", why).write();
            }
        }
        drop(self.pass);
    }

    async fn through(&mut self, tcp: Tcp, link: Linked, server: SocketAddr, settings: &Settings) {
        let Limits { max_send, rdma, .. } = Transport::<BufferId>::limits(&link);
        let params = reverse::Params {
            max_read_write_size: rdma
                .map_or(0, |rdma| rdma.max_read_write)
                .min(settings.params.max_read_write_size),
            max_fragmented_send_size: max_send,
            remote_invalidation: rdma.is_some_and(|rdma| rdma.remote_invalidation),
            ..settings.params
        };
        let reverse = reverse::Config::new(&params).map(|config| Reverse::new(&config));
        let named = (Names { client: self.address, server, server_port: 0 }, settings.basics.device);
        pass(&self.shared, &mut self.stop, named, reverse, (link, tcp)).await;
    }
}

async fn connect(server: SocketAddr, config: &Config) -> Result<Linked, Failure> {
    let end = VerbsConnection::connect(server, None, config, Clock::start())?;
    let (link, _) = link(Role::Initiator, end, config, Options::default()).await?;
    Ok(link)
}

/// Connects to the first server that answers.
async fn reach(stream: TcpStream, settings: &Settings) -> Result<(Tcp, Linked, SocketAddr), String> {
    let tcp = Tcp::new(stream).map_err(|error| error.to_string())?;
    let (within, mut all) = (settings.basics.connect, Vec::new());
    for server in &settings.servers {
        let why = match timeout(within, connect(*server, &settings.config)).await {
            Ok(Ok(link)) => return Ok((tcp, link, *server)),
            Ok(Err(failure)) => format!("the server {server} cannot be reached: {failure}"),
            Err(_) => format!("the server {server} did not answer within {} s", within.as_secs()),
        };
        all.push(why);
    }
    Err(all.join("; "))
}
