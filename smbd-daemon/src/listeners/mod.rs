//! Listeners over TCP, and at addresses of RDMA devices as these come and go.

#[cfg(feature = "verbs")]
mod rdma;
mod tcp;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admission::Pass;
use crate::log::{Line, Log};
use crate::network::Network;
use crate::places::{Found, Over, Rule, wanted};
use crate::tasks::{Basic, Core};
use crate::trouble::{Trouble, Unopened};

#[cfg(feature = "verbs")]
pub use rdma::{addresses, no_address};
pub use tcp::can_listen;

/// How long to wait after a listener has failed: the reason, such as too few file descriptors, may last.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a program wants of its listeners now.
pub trait Wishes: Basic + Send + Sync + 'static {
    /// What a rule leads to.
    type Target: Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// Where to listen.
    fn rules(&self) -> &[Rule<Self::Target>];

    /// Whose clients are admitted besides those of subnets and rules.
    fn allow(&self) -> &[Network];

    /// Whether clients of the subnet of an RDMA device's address are admitted at that address.
    fn admits_subnets(&self) -> bool {
        true
    }

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
    /// Of all, connections over RDMA that are not established yet, for each address that is listened on.
    pub pending: u32,
}

/// A program that serves clients.
pub trait Service: Send + Sync + 'static {
    /// Its settings.
    type Wishes: Wishes;

    /// What its tasks share.
    fn core(&self) -> &Core<Self::Wishes>;

    /// Adds to a line about a listener what it leads to.
    fn tell(line: Line, target: &TargetOf<Self>) -> Line {
        let _ = target;
        line
    }

    /// Serves a client over RDMA that was let in, in a task of its own. A program whose rules are all of TCP leaves this out.
    #[cfg(feature = "verbs")]
    fn serve(self: &Arc<Self>, incoming: smbd_verbs::tokio::Incoming, pass: Pass, target: TargetOf<Self>) {
        let _ = (target, pass);
        // The client may be gone by now.
        let _ = incoming.reject(smbd_verbs::RejectReason::Unwanted);
    }

    /// Serves a client over TCP that was let in, in a task of its own. A program without rules of TCP leaves this out.
    fn serve_tcp(
        self: &Arc<Self>,
        stream: TcpStream,
        client: SocketAddr,
        pass: Pass,
        target: TargetOf<Self>,
    ) {
        let _ = (stream, client, pass, target);
    }
}

/// What a rule of a program leads to.
pub type TargetOf<S> = <<S as Service>::Wishes as Wishes>::Target;

/// All listeners. Dropping it ends them, and no connection.
#[derive(Debug)]
pub struct Listeners<S: Service> {
    service: Arc<S>,
    open: BTreeMap<(Over, SocketAddr), Open<TargetOf<S>>>,
    /// Addresses at which it could not listen, which was said.
    failed: BTreeSet<(Over, SocketAddr)>,
}

#[derive(Debug)]
struct Open<T> {
    /// Where it listens, with the port that the system has chosen if it was to.
    at: SocketAddr,
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

/// Changes of a route.
type Routes<S> = watch::Receiver<Arc<Route<TargetOf<S>>>>;

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
        let found = found(wishes.rules()).await?;
        let named = wanted(wishes.rules(), &[]);
        for (place, rule) in wanted(wishes.rules(), &found) {
            if named.contains_key(&place) {
                let opened = listeners.listen(place, rule);
                opened.map_err(|unopened| Trouble::listening(place, unopened))?;
            }
        }
        listeners.look().await?;
        // Without a rule it is listened nowhere.
        #[cfg(feature = "verbs")]
        if listeners.open.is_empty() && !wishes.rules().is_empty() {
            no_address(
                listeners.service.core().log(),
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
        let found = found(wishes.rules()).await?;
        let wanted = wanted(wishes.rules(), &found);
        let log = self.service.core().log();
        self.open.retain(|place, open| {
            // One whose task has ended is opened again.
            let stays = !open.task.is_finished() && wanted.contains_key(place);
            if !stays {
                let line = log.line("not listening any more").with("address", open.at);
                line.with("over", place.0).write();
            }
            stays
        });
        self.failed.retain(|place| wanted.contains_key(place));
        for (place, rule) in wanted {
            let opened = match self.open.get(&place) {
                Some(open) => self.route(place, rule).map(|route| {
                    if *open.route.borrow() != route {
                        open.route.send_replace(Arc::clone(&route));
                        tell::<S>(log.line("listener changed"), (place.0, open.at), &route);
                    }
                }),
                None => self.listen(place, rule),
            };
            match opened {
                Ok(()) => drop(self.failed.remove(&place)),
                Err(unopened) if self.failed.insert(place) => {
                    let line = log.warning("cannot listen").with("address", place.1).with("over", place.0);
                    line.maybe("check", unopened.check).with("why", unopened.why).write();
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn wishes(&self) -> Arc<S::Wishes> {
        self.service.core().settings()
    }

    /// Clients of the address's own subnet, where that counts, and of networks that were allowed are let in.
    fn route(
        &self,
        (over, address): (Over, SocketAddr),
        rule: &Rule<TargetOf<S>>,
    ) -> Result<Arc<Route<TargetOf<S>>>, Unopened> {
        let wishes = self.wishes();
        let own = match over {
            Over::Rdma if wishes.admits_subnets() => Some(subnet(address)?),
            Over::Rdma | Over::Tcp => None,
        };
        let allowed = wishes.allow().iter().chain(&rule.allow);
        let networks = own.iter().chain(allowed).copied().collect();
        Ok(Arc::new(Route { target: rule.target.clone(), networks }))
    }

    fn listen(
        &mut self,
        (over, address): (Over, SocketAddr),
        rule: &Rule<TargetOf<S>>,
    ) -> Result<(), Unopened> {
        let route = self.route((over, address), rule)?;
        let (routes, of_task) = watch::channel(Arc::clone(&route));
        let service = Arc::clone(&self.service);
        let (at, task) = match over {
            Over::Tcp => tcp::listen(address, of_task, service)?,
            #[cfg(feature = "verbs")]
            Over::Rdma => rdma::listen(address, of_task, service)?,
            #[cfg(not(feature = "verbs"))]
            Over::Rdma => return Err(Unopened::without_rdma()),
        };
        tell::<S>(self.service.core().log().line("listening"), (over, at), &route);
        self.open.insert((over, address), Open { at, route: routes, task });
        Ok(())
    }
}

/// The addresses of RDMA devices, if a rule depends on them.
async fn found<T>(rules: &[Rule<T>]) -> Result<Vec<Found>, Trouble> {
    #[cfg(feature = "verbs")]
    if rules.iter().any(Rule::needs_devices) {
        return addresses().await;
    } else if rules.iter().any(Rule::follows_devices) {
        // A host without RDMA has TCP.
        return Ok(addresses().await.unwrap_or_default());
    }
    #[cfg(not(feature = "verbs"))]
    if rules.iter().any(Rule::needs_devices) {
        return Err(Trouble::other(&Unopened::without_rdma().why));
    }
    Ok(Vec::new())
}

#[cfg(feature = "verbs")]
fn subnet(address: SocketAddr) -> Result<Network, Unopened> {
    let prefix_len = smbd_verbs::prefix_len_of(address.ip())?.unwrap_or(u8::MAX);
    Ok(Network::of(address.ip(), prefix_len))
}

#[cfg(not(feature = "verbs"))]
fn subnet(_: SocketAddr) -> Result<Network, Unopened> {
    Err(Unopened::without_rdma())
}

fn tell<S: Service>(line: Line, (over, at): (Over, SocketAddr), route: &Route<TargetOf<S>>) {
    let networks: Vec<_> = route.networks.iter().map(ToString::to_string).collect();
    let line = line.with("address", at).with("over", over).with("admits", networks.join(","));
    S::tell(line, &route.target).write();
}

impl<S: Service> fmt::Display for Listeners<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.open.is_empty() {
            let has_rules = !self.wishes().rules().is_empty();
            let waiting = "waiting for an address of an RDMA device";
            return f.write_str(if has_rules { waiting } else { "without a listener of its own" });
        }
        f.write_str("listening at")?;
        self.open.iter().try_for_each(|((over, _), open)| match over {
            Over::Rdma => write!(f, " {}", open.at),
            Over::Tcp => write!(f, " tcp:{}", open.at),
        })
    }
}

/// Admits a client, or says why not.
fn admit<S: Service>(service: &S, routes: &Routes<S>, client: SocketAddr) -> Option<(Pass, TargetOf<S>)> {
    let route = Arc::clone(&routes.borrow());
    match service.core().admission.enter(client.ip(), &route.networks) {
        Ok(pass) => Some((pass, route.target.clone())),
        Err(why) => {
            service.core().refused(client, why);
            None
        }
    }
}

/// A listener has failed, and is called again a bit later.
async fn failed(log: Log, over: Over, why: impl fmt::Display) {
    log.warning("listener failed").with("over", over).with("why", why).write();
    tokio::time::sleep(AGAIN_AFTER).await;
}

#[cfg(test)]
mod tests;
