//! Who is let in.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
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
    connections: u32,
    clients: BTreeMap<IpAddr, u32>,
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
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "its address is in no allowed network (--allow)",
            Self::Connections => "too many connections (limits.connections, limits.memory_mib)",
            Self::PerClient => "too many connections of this client (limits.per_client)",
        })
    }
}

/// A connection that was let in; given back when dropped.
#[derive(Debug)]
pub struct Pass {
    admission: Arc<Admission>,
    client: IpAddr,
}

impl Admission {
    /// So many connections at the same time, and so many of one address.
    #[must_use]
    pub fn new(connections_max: u32, per_client_max: u32) -> Arc<Self> {
        let state = State { connections_max, per_client_max, connections: 0, clients: BTreeMap::new() };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Nothing that can panic happens under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Other limits, from now on. Connections beyond them stay.
    pub fn set_limits(&self, connections_max: u32, per_client_max: u32) {
        let mut state = self.state();
        (state.connections_max, state.per_client_max) = (connections_max, per_client_max);
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
        let of_client = state.clients.get(&client).copied().unwrap_or(0);
        if of_client >= state.per_client_max {
            return Err(Refused::PerClient);
        }
        state.clients.insert(client, of_client.saturating_add(1));
        state.connections = state.connections.saturating_add(1);
        drop(state);
        Ok(Pass { admission: Arc::clone(self), client })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        state.connections = state.connections.saturating_sub(1);
        match state.clients.get_mut(&self.client) {
            Some(count) if *count > 1 => *count = count.saturating_sub(1),
            _ => drop(state.clients.remove(&self.client)),
        }
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
        assert!(admission.state().clients.is_empty());
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
