//! Clients over SMB Direct.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use smbd_core::{Config, Params};
use smbd_files::serve::RdmaLink;
use smbd_verbs::tokio::{Incoming, Listener, Options};
use smbd_verbs::{LinkType, ListenOptions, RejectReason, device_addresses, port_of};
use tokio::task::JoinSet;

use crate::accept::Accept;
use crate::clients::Clients;
use crate::log::warning;
use crate::trouble::Trouble;

/// The longest message that a client may send, in bytes: what does not go by RDMA is not longer.
const RECEIVE_MAX: u32 = (1 << 20) + 4096;
/// The longest transfer, in bytes.
const TRANSFER_MAX: u32 = 8 << 20;
/// How long a client may take to negotiate (MS-SMBD 3.1.7.2).
const NEGOTIATE_WITHIN: Duration = Duration::from_secs(5);
/// Messages of a client that wait for the server, in bytes.
const WAITING_MAX: usize = 4 << 20;

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

fn config() -> Result<Config, smbd_core::ConfigError> {
    Config::try_from(Params {
        max_fragmented_recv_size: RECEIVE_MAX,
        max_read_write_size: TRANSFER_MAX,
        keepalive: Params::linux_client().keepalive,
        passive_negotiation_timeout: NEGOTIATE_WITHIN,
        rdma_ops: RdmaLink::TRANSFERS_MAX,
        registrations: 0,
        segments_max: 0,
        registration_slots: 0,
        ..Params::linux_server()
    })
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

async fn establish(incoming: Incoming) -> Result<RdmaLink, String> {
    let options = Options { bytes_max: WAITING_MAX, ..Options::default() };
    let config = config().map_err(|error| error.to_string())?;
    RdmaLink::accept(incoming, &config, options).await.map_err(|failure| failure.to_string())
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_a_connection_is_configured_with_is_valid() {
        super::config().unwrap();
    }
}
