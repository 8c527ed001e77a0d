//! Clients over SMB Direct.

use std::net::{IpAddr, SocketAddr};

use smbd_serve::rdma::{Rdma, accept, config};
use smbd_verbs::tokio::{Incoming, Listener};
use smbd_verbs::{LinkType, ListenOptions, RejectReason, device_addresses, port_of};
use tokio::task::JoinSet;

use crate::accept::Accept;
use crate::clients::Clients;
use crate::log::warning;
use crate::trouble::Trouble;

/// Addresses of RDMA devices, with the port of SMB Direct where that has one of its own.
pub(crate) fn devices() -> Vec<(IpAddr, Option<u16>)> {
    let Ok(found) = device_addresses() else { return Vec::new() };
    let port = |link| matches!(link, LinkType::Iwarp).then(|| port_of(link));
    found.into_iter().map(|device| (device.address, port(device.link_type))).collect()
}

pub(crate) fn bind(address: SocketAddr) -> Result<Listener, Trouble> {
    Listener::bind(address, ListenOptions::default())
        .map_err(|error| Trouble::failed(format_args!("rdma:{address}"), error))
}

impl Accept for Listener {
    type Incoming = Incoming;

    async fn accept(&mut self) -> Result<Incoming, String> {
        Self::accept(self).await.map_err(|error| error.to_string())
    }

    fn serve(&self, incoming: Incoming, clients: &Clients, tasks: &mut JoinSet<()>) {
        let client = incoming.peer_addr();
        let Some(place) = clients.enter(client, "rdma") else {
            // The client may be gone by now.
            let _ = incoming.reject(RejectReason::Unwanted);
            return;
        };
        let clients = clients.clone();
        tasks.spawn(async move {
            match establish(incoming).await {
                Ok(link) => clients.serve(client, "rdma", link, place).await,
                Err(why) => warning("client failed").with("client", client).with("why", why).write(),
            }
        });
    }
}

async fn establish(incoming: Incoming) -> Result<Rdma, String> {
    let config = config().map_err(|error| error.to_string())?;
    accept(incoming, &config).await.map_err(|failure| failure.to_string())
}
