//! Who is let in.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::network::Network;

/// Counts connections.
#[derive(Debug)]
pub struct Admission {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connections_max: u32,
    per_client_max: u32,
    /// `None`: it is not known who logs in.
    logging_in_max: Option<u32>,
    connections: u32,
    /// Connections of each address.
    clients: BTreeMap<IpAddr, u32>,
    /// Those that have not logged in, by [`neighbours`].
    logging_in: BTreeMap<Network, u32>,
}

/// Bits of an address of IPv6 that a host cannot choose.
const PREFIX_V6: u8 = 64;

/// The addresses that count together before a login: an address of IPv4, and a /64 of IPv6, of which a host can take each address.
fn neighbours(address: IpAddr) -> Network {
    Network::of(address, if address.is_ipv4() { u8::MAX } else { PREFIX_V6 })
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its address is in no network that is let in.
    Network,
    /// There are as many connections as there may be.
    Connections,
    /// The client has as many as it may have.
    PerClient,
    /// The client has as many connections without a login as it may have.
    LoggingIn,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "its address is in no allowed network (--allow)",
            Self::Connections => "too many connections (limits.connections, limits.memory_mib)",
            Self::PerClient => "too many connections of this client (limits.per_client)",
            Self::LoggingIn => {
                "too many connections of this address, or its /64, that have not logged in (limits.logging_in)"
            }
        })
    }
}

/// A connection that was let in; given back when dropped.
#[derive(Debug)]
pub struct Pass {
    admission: Arc<Admission>,
    client: IpAddr,
    is_logged_in: AtomicBool,
}

impl Pass {
    /// The connection has logged in. It counts against the limit of those that have not no more.
    pub fn logged_in(&self) {
        if !self.is_logged_in.swap(true, Ordering::Relaxed) {
            less(&mut self.admission.state().logging_in, &neighbours(self.client));
        }
    }
}

impl Admission {
    /// So many connections at the same time, and so many of one address.
    #[must_use]
    pub fn new(connections_max: u32, per_client_max: u32) -> Arc<Self> {
        Self::of(connections_max, per_client_max, None)
    }

    /// As [`Admission::new`], and at most `logging_in_max` connections that have not logged in ([`Pass::logged_in`]) of one address, or of
    /// one /64 of IPv6.
    #[must_use]
    pub fn with_logins(connections_max: u32, per_client_max: u32, logging_in_max: u32) -> Arc<Self> {
        Self::of(connections_max, per_client_max, Some(logging_in_max))
    }

    fn of(connections_max: u32, per_client_max: u32, logging_in_max: Option<u32>) -> Arc<Self> {
        let (connections, clients, logging_in) = (0, BTreeMap::new(), BTreeMap::new());
        let state =
            State { connections_max, per_client_max, logging_in_max, connections, clients, logging_in };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Nothing that can panic happens under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Other limits of [`Admission::new`] from now on. Connections beyond them stay.
    pub fn set_limits(&self, connections_max: u32, per_client_max: u32) {
        let mut state = self.state();
        (state.connections_max, state.per_client_max) = (connections_max, per_client_max);
    }

    /// Another limit of [`Admission::with_logins`] from now on; not if it is not known who logs in. Connections beyond it stay.
    pub fn set_logging_in(&self, logging_in_max: u32) {
        if let Some(most) = &mut self.state().logging_in_max {
            *most = logging_in_max;
        }
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.state().connections
    }

    /// Lets a client in, if it is in one of these networks.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn enter(self: &Arc<Self>, client: IpAddr, networks: &[Network]) -> Result<Pass, Refused> {
        if !networks.iter().any(|network| network.contains(client)) {
            return Err(Refused::Network);
        }
        self.enter_of_any(client)
    }

    /// Lets a client in, whatever its network is: somebody else has looked at that.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn enter_of_any(self: &Arc<Self>, client: IpAddr) -> Result<Pass, Refused> {
        let client = client.to_canonical();
        let mut state = self.state();
        if state.connections >= state.connections_max {
            return Err(Refused::Connections);
        }
        if state.clients.get(&client).copied().unwrap_or(0) >= state.per_client_max {
            return Err(Refused::PerClient);
        }
        let logging_in = state.logging_in.get(&neighbours(client)).copied().unwrap_or(0);
        if state.logging_in_max.is_some_and(|most| logging_in >= most) {
            return Err(Refused::LoggingIn);
        }
        more(&mut state.clients, client);
        more(&mut state.logging_in, neighbours(client));
        state.connections = state.connections.saturating_add(1);
        drop(state);
        Ok(Pass { admission: Arc::clone(self), client, is_logged_in: AtomicBool::new(false) })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // What has not logged in leaves both counts.
        self.logged_in();
        let mut state = self.admission.state();
        state.connections = state.connections.saturating_sub(1);
        less(&mut state.clients, &self.client);
    }
}

/// Counts one more.
fn more<K: Ord>(counts: &mut BTreeMap<K, u32>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}

/// Counts one less. Nothing is kept of the last one.
fn less<K: Ord>(counts: &mut BTreeMap<K, u32>, key: &K) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count = count.saturating_sub(1),
        _ => drop(counts.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_allowed_networks_are_let_in_and_no_more_than_the_limits_say() {
        let admission = Admission::new(3, 2);
        let networks = ["10.9.0.0/24".parse().unwrap()];
        let enter = |client: &str| admission.enter(client.parse().unwrap(), &networks);
        assert_eq!(admission.enter("10.9.0.2".parse().unwrap(), &[]).unwrap_err(), Refused::Network);
        let first = enter("10.9.0.2").unwrap();
        let second = enter("::ffff:10.9.0.2").unwrap();
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::PerClient);
        let third = enter("10.9.0.3").unwrap();
        assert_eq!(enter("10.9.0.4").unwrap_err(), Refused::Connections);
        assert_eq!(enter("10.9.1.2").unwrap_err(), Refused::Network);
        drop(first);
        assert_eq!(admission.connections(), 2);
        let again = enter("10.9.0.2").unwrap();
        drop((second, third, again));
        assert_eq!(admission.connections(), 0);
        let state = admission.state();
        assert!(state.clients.is_empty() && state.logging_in.is_empty());
    }

    #[test]
    fn lower_limits_let_nobody_in_and_end_nothing() {
        let admission = Admission::new(9, 9);
        let networks = ["10.9.0.0/24".parse().unwrap()];
        let enter = |client: &str| admission.enter(client.parse().unwrap(), &networks);
        let (first, second) = (enter("10.9.0.2").unwrap(), enter("10.9.0.2").unwrap());
        admission.set_limits(9, 1);
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::PerClient);
        admission.set_limits(1, 9);
        assert_eq!((admission.connections(), enter("10.9.0.3").unwrap_err()), (2, Refused::Connections));
        drop((first, second));
        assert!(enter("10.9.0.3").is_ok());
    }

    #[test]
    fn a_client_without_a_login_has_fewer_places_and_a_login_or_an_end_gives_one_back() {
        let admission = Admission::with_logins(9, 3, 1);
        let enter = |client: &str| admission.enter_of_any(client.parse().unwrap());
        let first = enter("10.9.0.2").unwrap();
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::LoggingIn);
        drop(enter("10.9.0.3").unwrap());
        first.logged_in();
        first.logged_in();
        let second = enter("10.9.0.2").unwrap();
        // The login of one is not that of the other.
        first.logged_in();
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::LoggingIn);
        drop(second);
        let again = enter("10.9.0.2").unwrap();
        again.logged_in();
        let third = enter("10.9.0.2").unwrap();
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::PerClient);
        drop((first, again, third));
        let state = admission.state();
        assert!(state.clients.is_empty() && state.logging_in.is_empty());
    }

    #[test]
    fn addresses_of_one_64_of_ipv6_count_together_until_they_have_logged_in() {
        let admission = Admission::with_logins(9, 2, 1);
        let enter = |client: &str| admission.enter_of_any(client.parse().unwrap());
        let first = enter("fd09::2").unwrap();
        assert_eq!(enter("fd09::ffff:3").unwrap_err(), Refused::LoggingIn);
        let other = enter("fd09:0:0:1::3").unwrap();
        first.logged_in();
        let second = enter("fd09::ffff:3").unwrap();
        second.logged_in();
        let third = enter("fd09::ffff:4").unwrap();
        third.logged_in();
        drop((first, other, second, third));
        let state = admission.state();
        assert!(state.clients.is_empty() && state.logging_in.is_empty());
    }

    #[test]
    fn an_address_of_ipv6_is_a_client_of_its_own_and_let_in_by_networks_of_ipv6_only() {
        let admission = Admission::new(9, 1);
        let enter = |client: &str, network: &str| {
            admission.enter(client.parse().unwrap(), &[network.parse().unwrap()])
        };
        assert_eq!(enter("fd09::2", "0.0.0.0/0").unwrap_err(), Refused::Network);
        assert_eq!(enter("10.9.0.2", "::/0").unwrap_err(), Refused::Network);
        let first = enter("fd09::2", "fd09::/64").unwrap();
        assert_eq!(enter("fd09::2", "fd09::/64").unwrap_err(), Refused::PerClient);
        let second = enter("fd09::3", "fd09::/64").unwrap();
        drop((first, second));
        assert_eq!(admission.connections(), 0);
    }
}
