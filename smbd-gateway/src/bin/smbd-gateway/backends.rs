//! Servers, and which addresses of this host lead to which of them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::network::Network;

/// Servers of which each connection takes the first that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    /// `None`: those that all listeners have that name no other.
    pub(crate) name: Option<String>,
    pub(crate) servers: Vec<SocketAddr>,
    /// Whether servers see the addresses of clients as theirs.
    pub(crate) transparent: bool,
}

/// Addresses that are listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) place: Place,
    /// `None`: that of SMB Direct on the device's type of link.
    pub(crate) port: Option<u16>,
    pub(crate) backend: Arc<Backend>,
    /// Whose clients are admitted besides those of the address's subnet.
    pub(crate) allow: Vec<Network>,
}

/// Where a listener is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this address and port, whether a device has it or not.
    Socket(SocketAddr),
    /// At this address, when a device has it.
    Address(IpAddr),
    /// At each address of the RDMA device or network interface of this name.
    Device(String),
    /// At each address of each RDMA device.
    Any,
}

/// An address of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) address: IpAddr,
    pub(crate) device: String,
    pub(crate) interface: String,
    /// The port of SMB Direct on its type of link.
    pub(crate) port: u16,
}

impl Rule {
    /// Whether it depends on the devices that there are.
    pub(crate) const fn follows_devices(&self) -> bool {
        !matches!(self.place, Place::Socket(_))
    }

    fn addresses(&self, found: &[Found]) -> Vec<SocketAddr> {
        let is_here = |found: &&Found| match &self.place {
            Place::Socket(_) => false,
            Place::Address(address) => found.address == *address,
            Place::Device(name) => found.device == *name || found.interface == *name,
            Place::Any => true,
        };
        match self.place {
            Place::Socket(address) => vec![address],
            Place::Address(_) | Place::Device(_) | Place::Any => {
                let at = |found: &Found| SocketAddr::new(found.address, self.port.unwrap_or(found.port));
                found.iter().filter(is_here).map(at).collect()
            }
        }
    }
}

/// Where to listen, with the addresses that devices have: the first rule that has an address counts.
pub(crate) fn wanted<'r>(rules: &'r [Rule], found: &[Found]) -> BTreeMap<SocketAddr, &'r Rule> {
    let mut wanted = BTreeMap::new();
    for rule in rules {
        for address in rule.addresses(found) {
            wanted.entry(address).or_insert(rule);
        }
    }
    wanted
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("server"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(name: &str) -> Arc<Backend> {
        let servers = vec!["127.0.0.1:445".parse().unwrap()];
        Arc::new(Backend { name: Some(name.into()), servers, transparent: false })
    }

    fn rule(place: Place, port: Option<u16>, name: &str) -> Rule {
        Rule { place, port, backend: backend(name), allow: Vec::new() }
    }

    fn found(address: &str, device: &str, interface: &str, port: u16) -> Found {
        let address = address.parse().unwrap();
        Found { address, device: device.into(), interface: interface.into(), port }
    }

    /// Two devices, one with an address of each family.
    fn devices() -> Vec<Found> {
        vec![
            found("10.9.0.1", "siw0", "eth0", 5445),
            found("fd09::1", "siw0", "eth0", 5445),
            found("10.8.0.1", "mlx5_0", "ib0", 445),
        ]
    }

    fn routes(rules: &[Rule]) -> Vec<String> {
        let wanted = wanted(rules, &devices());
        wanted.into_iter().map(|(address, rule)| format!("{address} {}", rule.backend)).collect()
    }

    #[test]
    fn without_more_words_each_address_of_each_device_is_listened_on_at_the_port_of_its_link() {
        let all = routes(&[rule(Place::Any, None, "a")]);
        assert_eq!(all, ["10.8.0.1:445 a", "10.9.0.1:5445 a", "[fd09::1]:5445 a"]);
        assert!(wanted(&[rule(Place::Any, None, "a")], &[]).is_empty());
    }

    #[test]
    fn listeners_lead_to_their_own_backends_by_address_by_device_and_by_port() {
        let rules = [
            rule(Place::Address("fd09::1".parse().unwrap()), None, "six"),
            rule(Place::Device("siw0".into()), None, "a"),
            rule(Place::Device("ib0".into()), Some(4450), "b"),
            rule(Place::Socket("192.0.2.1:445".parse().unwrap()), None, "c"),
        ];
        let expected = ["10.8.0.1:4450 b", "10.9.0.1:5445 a", "192.0.2.1:445 c", "[fd09::1]:5445 six"];
        assert_eq!(routes(&rules), expected);
    }

    #[test]
    fn one_address_leads_to_two_backends_by_two_ports_and_the_first_rule_for_a_port_counts() {
        let rules = [
            rule(Place::Device("siw0".into()), Some(4451), "a"),
            rule(Place::Address("10.9.0.1".parse().unwrap()), Some(4452), "b"),
            rule(Place::Socket("10.9.0.1:4451".parse().unwrap()), None, "late"),
            rule(Place::Device("gone".into()), None, "late"),
        ];
        assert_eq!(routes(&rules), ["10.9.0.1:4451 a", "10.9.0.1:4452 b", "[fd09::1]:4451 a"]);
    }
}
