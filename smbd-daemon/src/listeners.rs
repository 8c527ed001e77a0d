//! Listeners at addresses of RDMA devices, as these come and go.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use smbd_verbs::tokio::{Incoming, Listener};
use smbd_verbs::{
    DeviceAddress, ListenOptions, Ports, RejectReason, device_addresses, port_of, prefix_len_of,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::admission::{Admission, Pass};
use crate::log::{Line, Log};
use crate::network::Network;
use crate::places::{Found, Rule, wanted};
use crate::trouble::{Trouble, advice};

/// What a program wants of its listeners now.
pub trait Wishes: Send + Sync + 'static {
    /// What a rule leads to.
    type Target: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// Where to listen.
    fn rules(&self) -> &[Rule<Self::Target>];

    /// Whose clients are admitted besides those of subnets and rules.
    fn allow(&self) -> &[Network];

    /// How many clients are taken.
    fn limits(&self) -> Limits;
}

/// How many clients a program takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time.
    pub connections: u32,
    /// Of those, connections of one address.
    pub per_client: u32,
    /// Of all, connections that are not established yet, for each address that is listened on.
    pub pending: u32,
}

impl Limits {
    /// One client more than may be let in: admission is what refuses it, and says so at once.
    fn options(self) -> ListenOptions {
        ListenOptions {
            ports: Ports::Fixed,
            max_pending: self.pending,
            max_connections: self.connections.saturating_add(1),
            max_per_host: self.per_client.saturating_add(1),
            ..ListenOptions::default()
        }
    }
}

/// A program that serves clients.
pub trait Service: Send + Sync + 'static {
    /// Its settings.
    type Wishes: Wishes;

    /// Its settings, as they are and as they change.
    fn wishes(&self) -> watch::Receiver<Arc<Self::Wishes>>;

    /// Where lines are written.
    fn log(&self) -> Log;

    /// Who counts clients.
    fn admission(&self) -> &Arc<Admission>;

    /// A client was refused.
    fn refused(&self, client: SocketAddr, why: &dyn fmt::Display);

    /// Adds to a line about a listener what it leads to.
    fn tell(line: Line, target: &TargetOf<Self>) -> Line;

    /// Serves a client that was let in, in a task of its own.
    fn serve(self: &Arc<Self>, incoming: Incoming, pass: Pass, target: TargetOf<Self>);
}

/// What a rule of a program leads to.
pub type TargetOf<S> = <<S as Service>::Wishes as Wishes>::Target;

/// All listeners. Dropping it ends them, and no connection.
#[derive(Debug)]
pub struct Listeners<S: Service> {
    service: Arc<S>,
    open: BTreeMap<SocketAddr, Open<TargetOf<S>>>,
    /// Addresses at which it could not listen, which was said.
    failed: BTreeSet<SocketAddr>,
}

#[derive(Debug)]
struct Open<T> {
    route: watch::Sender<Arc<Route<T>>>,
    task: JoinHandle<()>,
}

/// What becomes of the clients of an address.
#[derive(Debug, PartialEq, Eq)]
struct Route<T> {
    target: T,
    /// Who is let in; first the subnet of the address.
    networks: Vec<Network>,
}

impl<T> Drop for Open<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: Service> Listeners<S> {
    /// Opens the listeners that were named with their ports, and those at addresses that RDMA devices have now.
    ///
    /// # Errors
    /// One that was named cannot be opened, or devices cannot be asked.
    pub async fn open(service: Arc<S>) -> Result<Self, Trouble> {
        let mut listeners = Self { service, open: BTreeMap::new(), failed: BTreeSet::new() };
        // These have to be there. Others come and go.
        let wishes = listeners.wishes();
        for (address, rule) in wanted(wishes.rules(), &[]) {
            let opened =
                listeners.route(address.ip(), rule).and_then(|route| listeners.listen(address, route));
            opened.map_err(|error| Trouble::listening(address, &error))?;
        }
        listeners.look().await?;
        // Without a rule it is listened nowhere.
        if listeners.open.is_empty() && !wishes.rules().is_empty() {
            no_address(
                listeners.service.log(),
                "no RDMA device has one at which it could be listened; waiting for one",
            );
        }
        Ok(listeners)
    }

    /// Looks at what is wanted and at the addresses of RDMA devices.
    ///
    /// # Errors
    /// Devices cannot be asked.
    pub async fn look(&mut self) -> Result<(), Trouble> {
        let wishes = self.wishes();
        let rules = wishes.rules();
        let follows_devices = rules.iter().any(Rule::follows_devices);
        let found = if follows_devices { addresses().await? } else { Vec::new() };
        let wanted = wanted(rules, &found);
        let log = self.service.log();
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
                        tell::<S>(log.line("listener changed"), address, &route);
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
                        log.warning("cannot listen").with("address", address).with("check", advice(&error));
                    line.with("why", error).write();
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn wishes(&self) -> Arc<S::Wishes> {
        Arc::clone(&self.service.wishes().borrow())
    }

    /// Clients of the address's own subnet, and of networks that were allowed, are let in.
    fn route(
        &self,
        address: IpAddr,
        rule: &Rule<TargetOf<S>>,
    ) -> Result<Arc<Route<TargetOf<S>>>, smbd_verbs::Error> {
        let prefix_len = prefix_len_of(address)?.unwrap_or(u8::MAX);
        let own = Network::of(address, prefix_len);
        let wishes = self.wishes();
        let allowed = wishes.allow().iter().chain(&rule.allow);
        let networks = std::iter::once(&own).chain(allowed).copied().collect();
        Ok(Arc::new(Route { target: rule.target.clone(), networks }))
    }

    fn listen(
        &mut self,
        address: SocketAddr,
        route: Arc<Route<TargetOf<S>>>,
    ) -> Result<(), smbd_verbs::Error> {
        let listener = Listener::bind(address, self.wishes().limits().options())?;
        tell::<S>(self.service.log().line("listening"), address, &route);
        let (route, of_task) = watch::channel(route);
        let task = tokio::spawn(accept(listener, of_task, Arc::clone(&self.service)));
        self.open.insert(address, Open { route, task });
        Ok(())
    }
}

/// The addresses of RDMA devices.
///
/// # Errors
/// Devices cannot be asked: there is no RDMA on this host, or this user may not use it.
pub async fn addresses() -> Result<Vec<Found>, Trouble> {
    let found = tokio::task::spawn_blocking(device_addresses).await;
    let found = found.map_err(|error| Trouble::other(&error))??;
    Ok(found.into_iter().map(Found::from).collect())
}

/// Writes that RDMA devices have no address, what that means, and what to check.
pub fn no_address(log: Log, why: &str) {
    log.warning("no address").with("why", why).with("check", "`rdma link`, `ip address`").write();
}

impl From<DeviceAddress> for Found {
    fn from(found: DeviceAddress) -> Self {
        let DeviceAddress { address, device, interface, link_type, .. } = found;
        Self { address, device, interface, port: port_of(link_type) }
    }
}

fn tell<S: Service>(line: Line, address: SocketAddr, route: &Route<TargetOf<S>>) {
    let networks: Vec<_> = route.networks.iter().map(ToString::to_string).collect();
    let line = line.with("address", address).with("admits", networks.join(","));
    S::tell(line, &route.target).write();
}

impl<S: Service> fmt::Display for Listeners<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.open.is_empty() {
            return f.write_str("waiting for an address of an RDMA device");
        }
        f.write_str("listening at")?;
        self.open.keys().try_for_each(|address| write!(f, " {address}"))
    }
}

async fn accept<S: Service>(
    mut listener: Listener,
    route: watch::Receiver<Arc<Route<TargetOf<S>>>>,
    service: Arc<S>,
) {
    let mut wishes = service.wishes();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = wishes.changed() => {
                let options = wishes.borrow().limits().options();
                listener.set_limits(&options);
                continue;
            }
        };
        let incoming = match accepted {
            Ok(incoming) => incoming,
            Err(error) => {
                service.log().warning("listener failed").with("why", error).write();
                // It can be called again; the reason may last.
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        if let Some((client, reason)) = listener.last_refused() {
            service.refused(client, &reason);
        }
        let route = Arc::clone(&route.borrow());
        match service.admission().enter(incoming.peer_addr().ip(), &route.networks) {
            Ok(pass) => service.serve(incoming, pass, route.target.clone()),
            Err(why) => {
                service.refused(incoming.peer_addr(), &why);
                // The client may be gone by now.
                let _ = incoming.reject(RejectReason::Unwanted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_has_room_for_the_client_that_admission_refuses() {
        let room = |connections, per_client| {
            let options = Limits { connections, per_client, pending: 3 }.options();
            (options.max_connections, options.max_per_host, options.max_pending)
        };
        assert_eq!(room(2, 1), (3, 2, 3));
        assert_eq!(room(1, u32::MAX), (2, u32::MAX, 3));
    }
}
