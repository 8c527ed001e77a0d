//! Clients over SMB Direct, whose connections `smbd-broker` has.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use smbd_broker::client::{Broker, Connection, Incoming, connect};
use smbd_files::serve::BrokerLink;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::accept::Accept;
use crate::clients::Clients;
use crate::log::Line;
use crate::trouble::Trouble;

/// How long to wait until a broker that is gone is asked for again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What comes from a broker. One that is gone is waited for.
#[derive(Debug)]
pub(crate) struct FromBroker {
    path: PathBuf,
    attached: Option<(Broker, Incoming)>,
}

impl FromBroker {
    /// Attaches to the broker.
    pub(crate) async fn attach(path: &Path) -> Result<Self, Trouble> {
        let attached = attach(path).await.map_err(|why| Trouble::failed(path.display(), why))?;
        Ok(Self { path: path.to_owned(), attached: Some(attached) })
    }
}

/// Takes all connections that no other server takes.
async fn attach(path: &Path) -> Result<(Broker, Incoming), String> {
    let (broker, incoming) = connect(path, "smbd-serve").await.map_err(|error| error.to_string())?;
    broker.listen(true).await.map_err(|error| error.to_string())?;
    let instance = format_args!("{:016x}", broker.welcome().instance).to_string();
    Line::new("attached").with("broker", path.display()).with("instance", instance).write();
    Ok((broker, incoming))
}

impl Accept for FromBroker {
    type Incoming = Connection;

    async fn accept(&mut self) -> Result<Connection, String> {
        loop {
            if let Some((_, incoming)) = &mut self.attached {
                if let Some(connection) = incoming.next().await {
                    return Ok(connection);
                }
                self.attached = None;
                Line::new("broker lost").with("broker", self.path.display()).write();
            }
            match attach(&self.path).await {
                Ok(attached) => self.attached = Some(attached),
                Err(_) => sleep(AGAIN_AFTER).await,
            }
        }
    }

    fn serve(&self, connection: Connection, clients: &Clients, tasks: &mut JoinSet<()>) {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let client = connection.newcomer().peer.parse().unwrap_or(unknown);
        let Some(place) = clients.enter(client, "broker") else { return };
        tasks.spawn(clients.clone().serve(client, "broker", BrokerLink::new(connection), place));
    }
}
