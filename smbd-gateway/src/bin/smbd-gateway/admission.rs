//! Who is let in.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::network::Network;

/// Counts connections, and knows the networks of clients.
#[derive(Debug)]
pub(crate) struct Admission {
    connections_max: u32,
    per_client_max: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    networks: Vec<Network>,
    connections: u32,
    clients: BTreeMap<IpAddr, u32>,
}

/// Why a client is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Network,
    Connections,
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
pub(crate) struct Pass {
    admission: Arc<Admission>,
    client: IpAddr,
}

impl Admission {
    pub(crate) fn new(connections_max: u32, per_client_max: u32) -> Arc<Self> {
        Arc::new(Self { connections_max, per_client_max, state: Mutex::new(State::default()) })
    }

    /// Nothing that can panic happens under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clients of these networks are let in from now on.
    pub(crate) fn set_networks(&self, networks: Vec<Network>) {
        self.state().networks = networks;
    }

    /// How many connections there are.
    pub(crate) fn connections(&self) -> u32 {
        self.state().connections
    }

    /// Lets a client in.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr) -> Result<Pass, Refused> {
        let client = client.to_canonical();
        let mut state = self.state();
        if !state.networks.iter().any(|network| network.contains(client)) {
            return Err(Refused::Network);
        }
        if state.connections >= self.connections_max {
            return Err(Refused::Connections);
        }
        let of_client = state.clients.entry(client).or_default();
        if *of_client >= self.per_client_max {
            return Err(Refused::PerClient);
        }
        *of_client = of_client.saturating_add(1);
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
        let enter = |client: &str| admission.enter(client.parse().unwrap());
        assert_eq!(enter("10.9.0.2").unwrap_err(), Refused::Network);
        admission.set_networks(vec!["10.9.0.0/24".parse().unwrap()]);
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
}
