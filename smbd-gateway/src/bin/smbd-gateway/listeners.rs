//! The addresses that are listened on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_verbs::tokio::Listener;
use smbd_verbs::{
    DeviceAddress, ListenOptions, Ports, RejectReason, device_addresses, port_of, prefix_len_of,
};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::connection::Client;
use crate::network::Network;
use crate::shared::Shared;
use crate::trouble::Trouble;

/// All listeners. Dropping it ends them, and no connection.
pub(crate) struct Listeners {
    shared: Arc<Shared>,
    open: BTreeMap<SocketAddr, Open>,
    /// Addresses at which it could not listen, which was said.
    failed: BTreeSet<SocketAddr>,
}

struct Open {
    network: Network,
    task: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listeners {
    /// Opens the listeners that were named, or those of all addresses that RDMA devices have now.
    pub(crate) async fn open(shared: Arc<Shared>) -> Result<Self, Trouble> {
        let mut listeners = Self { shared, open: BTreeMap::new(), failed: BTreeSet::new() };
        for at in listeners.shared.settings.listeners.clone() {
            let address = at.address;
            let prefix_len = prefix_len_of(address.ip())?.unwrap_or(u8::MAX);
            let network = Network::of(address.ip(), prefix_len);
            listeners
                .listen(address, network, at.servers)
                .map_err(|error| Trouble::listening(address, &error))?;
        }
        listeners.admit();
        listeners.look().await?;
        if listeners.open.is_empty() {
            let line = listeners.shared.log.line("no address");
            line.with("why", "no RDMA device has one at which it could be listened; waiting for one")
                .with("check", "`rdma link`, `ip address`")
                .write();
        }
        Ok(listeners)
    }

    /// Looks at the addresses of RDMA devices, unless listeners were named.
    pub(crate) async fn look(&mut self) -> Result<(), Trouble> {
        if !self.shared.settings.listeners.is_empty() {
            return Ok(());
        }
        let found = tokio::task::spawn_blocking(device_addresses).await;
        let found = found.map_err(|error| Trouble::other(&error))??;
        let at = |found: &DeviceAddress| SocketAddr::new(found.address, port_of(found.link_type));
        let wanted: BTreeMap<SocketAddr, DeviceAddress> =
            found.into_iter().map(|found| (at(&found), found)).collect();
        let log = self.shared.log;
        self.open.retain(|address, open| {
            // One whose task has ended is opened again.
            let stays = !open.task.is_finished() && wanted.contains_key(address);
            if !stays {
                log.line("not listening any more").with("address", address).write();
            }
            stays
        });
        self.failed.retain(|address| wanted.contains_key(address));
        for (address, device) in wanted {
            if self.open.contains_key(&address) {
                continue;
            }
            let network = Network::of(device.address, device.prefix_len);
            let servers = self.shared.settings.servers.clone();
            match self.listen(address, network, servers) {
                Ok(()) => drop(self.failed.remove(&address)),
                Err(error) if self.failed.insert(address) => {
                    let line = self.shared.log.line("cannot listen").with("address", address);
                    line.with("device", device.device).with("why", error).write();
                }
                Err(_) => {}
            }
        }
        self.admit();
        Ok(())
    }

    fn listen(
        &mut self,
        address: SocketAddr,
        network: Network,
        servers: Vec<SocketAddr>,
    ) -> Result<(), smbd_verbs::Error> {
        let settings = &self.shared.settings;
        let options = ListenOptions {
            ports: Ports::Fixed,
            max_pending: settings.pending,
            max_connections: settings.connections,
            max_per_host: settings.per_client,
            ..ListenOptions::default()
        };
        let listener = Listener::bind(address, options)?;
        self.shared.log.line("listening").with("address", address).with("admits", network).write();
        let task = tokio::spawn(accept(listener, servers, Arc::clone(&self.shared)));
        self.open.insert(address, Open { network, task });
        Ok(())
    }

    /// Clients of the subnets that are listened on, and of allowed networks, are let in.
    fn admit(&self) {
        let own = self.open.values().map(|open| open.network);
        let networks = own.chain(self.shared.settings.allow.iter().copied()).collect();
        self.shared.admission.set_networks(networks);
    }
}

impl fmt::Display for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.open.is_empty() {
            return f.write_str("waiting for an address of an RDMA device");
        }
        f.write_str("listening at")?;
        self.open.keys().try_for_each(|address| write!(f, " {address}"))
    }
}

async fn accept(mut listener: Listener, servers: Vec<SocketAddr>, shared: Arc<Shared>) {
    loop {
        let incoming = match listener.accept().await {
            Ok(incoming) => incoming,
            Err(error) => {
                shared.log.line("listener failed").with("why", error).write();
                // It can be called again; the reason may last.
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        if let Some((client, reason)) = listener.last_refused() {
            shared.refused(client, reason);
        }
        match shared.admission.enter(incoming.peer_addr().ip()) {
            Ok(pass) => {
                let (stop, servers) = (shared.stop.subscribe(), servers.clone());
                let client = Client { shared: Arc::clone(&shared), pass, stop, servers };
                tokio::spawn(client.serve(incoming));
            }
            Err(why) => {
                shared.refused(incoming.peer_addr(), why);
                // The client may be gone by now.
                let _ = incoming.reject(RejectReason::Unwanted);
            }
        }
    }
}
