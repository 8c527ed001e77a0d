//! The addresses that are listened on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use smbd_verbs::tokio::Listener;
use smbd_verbs::{
    DeviceAddress, ListenOptions, Ports, RejectReason, device_addresses, port_of, prefix_len_of,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::backends::{Backend, Found, Rule, wanted};
use crate::connection::Client;
use crate::log::Line;
use crate::network::Network;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::trouble::{Trouble, advice};

/// All listeners. Dropping it ends them, and no connection.
pub(crate) struct Listeners {
    shared: Arc<Shared>,
    open: BTreeMap<SocketAddr, Open>,
    /// Addresses at which it could not listen, which was said.
    failed: BTreeSet<SocketAddr>,
}

struct Open {
    route: watch::Sender<Arc<Route>>,
    task: JoinHandle<()>,
}

/// What becomes of the clients of an address.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    backend: Arc<Backend>,
    /// Who is let in; first the subnet of the address.
    networks: Vec<Network>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listeners {
    /// Opens the listeners that were named with their ports, and those at addresses that RDMA devices have now.
    pub(crate) async fn open(shared: Arc<Shared>) -> Result<Self, Trouble> {
        let mut listeners = Self { shared, open: BTreeMap::new(), failed: BTreeSet::new() };
        // These have to be there. Others come and go.
        let settings = listeners.shared.settings();
        for (address, rule) in wanted(&settings.listeners, &[]) {
            let opened =
                listeners.route(address.ip(), rule).and_then(|route| listeners.listen(address, route));
            opened.map_err(|error| Trouble::listening(address, &error))?;
        }
        listeners.look().await?;
        if listeners.open.is_empty() {
            let line = listeners.shared.log().line("no address");
            line.with("why", "no RDMA device has one at which it could be listened; waiting for one")
                .with("check", "`rdma link`, `ip address`")
                .write();
        }
        Ok(listeners)
    }

    /// Looks at what is wanted and at the addresses of RDMA devices.
    pub(crate) async fn look(&mut self) -> Result<(), Trouble> {
        let settings = self.shared.settings();
        let rules = &settings.listeners;
        let follows_devices = rules.iter().any(Rule::follows_devices);
        let found = if follows_devices { found().await? } else { Vec::new() };
        let wanted = wanted(rules, &found);
        let log = self.shared.log();
        self.open.retain(|address, open| {
            // One whose task has ended is opened again.
            let stays = !open.task.is_finished() && wanted.contains_key(address);
            if !stays {
                log.line("not listening any more").with("address", address).write();
            }
            stays
        });
        self.failed.retain(|address| wanted.contains_key(address));
        for (address, rule) in wanted {
            let route = self.route(address.ip(), rule)?;
            let opened = match self.open.get(&address) {
                Some(open) => {
                    if *open.route.borrow() != route {
                        tell(log.line("listener changed"), address, &route);
                        open.route.send_replace(route);
                    }
                    Ok(())
                }
                None => self.listen(address, route),
            };
            match opened {
                Ok(()) => drop(self.failed.remove(&address)),
                Err(error) if self.failed.insert(address) => {
                    let line =
                        log.line("cannot listen").with("address", address).with("check", advice(&error));
                    line.with("why", error).write();
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Clients of the address's own subnet, and of networks that were allowed, are let in.
    fn route(&self, address: IpAddr, rule: &Rule) -> Result<Arc<Route>, smbd_verbs::Error> {
        let prefix_len = prefix_len_of(address)?.unwrap_or(u8::MAX);
        let own = Network::of(address, prefix_len);
        let settings = self.shared.settings();
        let allowed = settings.allow.iter().chain(&rule.allow);
        let networks = std::iter::once(&own).chain(allowed).copied().collect();
        Ok(Arc::new(Route { backend: Arc::clone(&rule.backend), networks }))
    }

    fn listen(&mut self, address: SocketAddr, route: Arc<Route>) -> Result<(), smbd_verbs::Error> {
        let listener = Listener::bind(address, options(&self.shared.settings()))?;
        tell(self.shared.log().line("listening"), address, &route);
        let (route, of_task) = watch::channel(route);
        let task = tokio::spawn(accept(listener, of_task, Arc::clone(&self.shared)));
        self.open.insert(address, Open { route, task });
        Ok(())
    }
}

/// One client more than may be let in: admission is what refuses it, and says so at once.
fn options(settings: &Settings) -> ListenOptions {
    ListenOptions {
        ports: Ports::Fixed,
        max_pending: settings.pending,
        max_connections: settings.connections.saturating_add(1),
        max_per_host: settings.per_client.saturating_add(1),
        ..ListenOptions::default()
    }
}

/// The addresses of RDMA devices.
async fn found() -> Result<Vec<Found>, Trouble> {
    let found = tokio::task::spawn_blocking(device_addresses).await;
    let found = found.map_err(|error| Trouble::other(&error))??;
    let found = found.into_iter().map(|DeviceAddress { address, device, interface, link_type, .. }| Found {
        address,
        device,
        interface,
        port: port_of(link_type),
    });
    Ok(found.collect())
}

fn tell(line: Line, address: SocketAddr, route: &Route) {
    let networks: Vec<_> = route.networks.iter().map(ToString::to_string).collect();
    let line = line.with("address", address).with("admits", networks.join(","));
    line.maybe("backend", route.backend.name.as_ref()).write();
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

async fn accept(mut listener: Listener, route: watch::Receiver<Arc<Route>>, shared: Arc<Shared>) {
    let mut settings = shared.follow_settings();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = settings.changed() => {
                let options = options(&settings.borrow());
                listener.set_limits(&options);
                continue;
            }
        };
        let incoming = match accepted {
            Ok(incoming) => incoming,
            Err(error) => {
                shared.log().line("listener failed").with("why", error).write();
                // It can be called again; the reason may last.
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        if let Some((client, reason)) = listener.last_refused() {
            shared.refused(client, reason);
        }
        let route = Arc::clone(&route.borrow());
        match shared.admission.enter(incoming.peer_addr().ip(), &route.networks) {
            Ok(pass) => {
                let (stop, backend) = (shared.stop.subscribe(), Arc::clone(&route.backend));
                let client = Client { shared: Arc::clone(&shared), pass, stop, backend };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::options::Run;

    #[test]
    fn a_listener_has_room_for_the_client_that_admission_refuses() {
        let room = |connections, per_client| {
            let run = Run { server: vec!["127.0.0.1:445".into()], ..Run::default() };
            let mut file = File::default();
            (file.limits.connections, file.limits.per_client) = (connections, per_client);
            let ListenOptions { max_connections, max_per_host, .. } =
                options(&Settings::of(&run, &file).unwrap());
            (max_connections, max_per_host)
        };
        assert_eq!(room(2, 1), (3, 2));
        assert_eq!(room(1, u32::MAX), (2, u32::MAX));
    }
}
