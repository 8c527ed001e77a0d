//! Where it is listened, and what that leads to.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::network::Network;

/// Addresses that are listened on, and what becomes of clients that come to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// Where.
    pub place: Place,
    /// `None`: that of SMB Direct on the device's type of link.
    pub port: Option<u16>,
    /// What the program does with a client.
    pub target: T,
    /// Whose clients are admitted besides those of the address's subnet.
    pub allow: Vec<Network>,
}

/// Where a listener is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// TCP at this address and port.
    Tcp(SocketAddr),
    /// TCP at this address and port, and SMB Direct when a device has the address: at the same port, on iWARP at 5445. TCP is left out at a
    /// port that is SMB Direct's there.
    Both(SocketAddr),
    /// SMB Direct at this address and port, whether a device has it or not.
    Socket(SocketAddr),
    /// SMB Direct at this address, when a device has it.
    Address(IpAddr),
    /// SMB Direct at each address of the RDMA device or network interface of this name.
    Device(String),
    /// SMB Direct at each address of each RDMA device.
    Any,
}

/// What a listener's clients come over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    /// TCP.
    Tcp,
    /// RDMA: SMB Direct.
    Rdma,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Rdma => "rdma",
        })
    }
}

/// An address of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The address.
    pub address: IpAddr,
    /// The device's name.
    pub device: String,
    /// The network interface.
    pub interface: String,
    /// The port of SMB Direct on its type of link.
    pub port: u16,
    /// Whether its connections are those of TCP (iWARP): both have the same ports.
    pub is_tcp: bool,
}

impl Found {
    /// Whether the device has the address, or one of those that are meant by `0.0.0.0` or `[::]`.
    fn has(&self, address: IpAddr) -> bool {
        self.address == address || (address.is_unspecified() && self.address.is_ipv4() == address.is_ipv4())
    }
}

impl<T> Rule<T> {
    /// Puts one together.
    ///
    /// # Errors
    /// The port is written twice, or is 0.
    pub fn new(place: Place, port: Option<u16>, target: T, allow: Vec<Network>) -> Result<Self, String> {
        match (&place, port) {
            (Place::Tcp(address) | Place::Both(address) | Place::Socket(address), Some(port)) => {
                Err(format!("a listener at {address} has port {port} as well: write the port once"))
            }
            (_, Some(0)) => Err("the port of a listener is 0, and can be 1 to 65535".into()),
            _ => Ok(Self { place, port, target, allow }),
        }
    }

    /// Whether it depends on the devices that there are.
    #[must_use]
    pub const fn follows_devices(&self) -> bool {
        !matches!(self.place, Place::Tcp(_) | Place::Socket(_))
    }

    /// Whether it leads nowhere without a device.
    #[must_use]
    pub const fn needs_devices(&self) -> bool {
        matches!(self.place, Place::Address(_) | Place::Device(_) | Place::Any)
    }

    fn addresses(&self, found: &[Found]) -> Vec<(Over, SocketAddr)> {
        let at = |found: &Found| SocketAddr::new(found.address, self.port.unwrap_or(found.port));
        let of_devices = |is_here: &dyn Fn(&Found) -> bool| -> Vec<_> {
            found.iter().filter(|found| is_here(found)).map(|found| (Over::Rdma, at(found))).collect()
        };
        match &self.place {
            Place::Tcp(address) => vec![(Over::Tcp, *address)],
            Place::Both(address) => both(*address, found),
            Place::Socket(address) => vec![(Over::Rdma, *address)],
            Place::Address(address) => of_devices(&|found| found.address == *address),
            Place::Device(name) => of_devices(&|found| found.device == *name || found.interface == *name),
            Place::Any => of_devices(&|_| true),
        }
    }
}

fn both(address: SocketAddr, found: &[Found]) -> Vec<(Over, SocketAddr)> {
    let devices = || found.iter().filter(|found| found.has(address.ip()));
    let port = |found: &Found| if found.is_tcp { found.port } else { address.port() };
    let rdma = devices().map(|found| (Over::Rdma, SocketAddr::new(found.address, port(found))));
    // There TCP has no such port left.
    let is_taken = devices().any(|found| found.is_tcp && found.port == address.port());
    (!is_taken).then_some((Over::Tcp, address)).into_iter().chain(rdma).collect()
}

impl Place {
    /// SMB Direct, as it was written: an address with or without a port, or else a device, or neither for all devices.
    ///
    /// # Errors
    /// It is no address of a host, it is that of all, or both were written.
    pub fn new(address: Option<&str>, device: Option<&str>) -> Result<Self, String> {
        let text = match (address, device) {
            (None, None) => return Ok(Self::Any),
            (None, Some(device)) => return Ok(Self::Device(device.into())),
            (Some(address), Some(device)) => {
                return Err(format!(
                    "a listener names the address {address} and the device {device}: write one of them"
                ));
            }
            (Some(text), None) => text,
        };
        let socket = text.parse::<SocketAddr>().map(Self::Socket);
        let place = socket.or_else(|_| text.trim_matches(['[', ']']).parse::<IpAddr>().map(Self::Address));
        let place = place.map_err(|_| {
            format!("'{text}' is no address of this host, such as 10.9.0.1:5445 or [fd09::1]:5445")
        })?;
        match place {
            Self::Socket(address) if address.port() == 0 => {
                Err(format!("the port of a listener is 0 at {address}, and can be 1 to 65535"))
            }
            Self::Socket(address) if address.ip().is_unspecified() => Err(everywhere(text)),
            Self::Address(address) if address.is_unspecified() => Err(everywhere(text)),
            place => Ok(place),
        }
    }
}

fn everywhere(text: &str) -> String {
    format!(
        "cannot listen at {text}: on iWARP that takes the port from SMB over TCP; name the addresses, or none to have all of \
         RDMA devices"
    )
}

/// Networks, as they were written.
///
/// # Errors
/// One is none.
pub fn networks<'t>(texts: impl IntoIterator<Item = &'t String>) -> Result<Vec<Network>, String> {
    texts.into_iter().map(|text| text.parse()).collect()
}

/// Where to listen, with the addresses that devices have: the first rule that has an address counts.
#[must_use]
pub fn wanted<'r, T>(rules: &'r [Rule<T>], found: &[Found]) -> BTreeMap<(Over, SocketAddr), &'r Rule<T>> {
    let mut wanted = BTreeMap::new();
    for rule in rules {
        for address in rule.addresses(found) {
            wanted.entry(address).or_insert(rule);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(place: Place, port: Option<u16>, target: &'static str) -> Rule<&'static str> {
        Rule::new(place, port, target, Vec::new()).unwrap()
    }

    fn found(address: &str, device: &str, interface: &str, port: u16) -> Found {
        let address = address.parse().unwrap();
        Found { address, device: device.into(), interface: interface.into(), port, is_tcp: port == 5445 }
    }

    /// Two devices, one with an address of each family.
    fn devices() -> Vec<Found> {
        vec![
            found("10.9.0.1", "siw0", "eth0", 5445),
            found("fd09::1", "siw0", "eth0", 5445),
            found("10.8.0.1", "mlx5_0", "ib0", 445),
        ]
    }

    fn routes(rules: &[Rule<&str>]) -> Vec<String> {
        let wanted = wanted(rules, &devices());
        let route = |((over, address), rule): (_, &Rule<&str>)| {
            let over = if over == Over::Tcp { "tcp:" } else { "" };
            format!("{over}{address} {}", rule.target)
        };
        wanted.into_iter().map(route).collect()
    }

    #[test]
    fn without_more_words_each_address_of_each_device_is_listened_on_at_the_port_of_its_link() {
        let all = routes(&[rule(Place::Any, None, "a")]);
        assert_eq!(all, ["10.8.0.1:445 a", "10.9.0.1:5445 a", "[fd09::1]:5445 a"]);
        assert!(wanted(&[rule(Place::Any, None, "a")], &[]).is_empty());
    }

    #[test]
    fn listeners_lead_to_their_own_targets_by_address_by_device_and_by_port() {
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
    fn one_address_leads_to_two_targets_by_two_ports_and_the_first_rule_for_a_port_counts() {
        let rules = [
            rule(Place::Device("siw0".into()), Some(4451), "a"),
            rule(Place::Address("10.9.0.1".parse().unwrap()), Some(4452), "b"),
            rule(Place::Socket("10.9.0.1:4451".parse().unwrap()), None, "late"),
            rule(Place::Device("gone".into()), None, "late"),
        ];
        assert_eq!(routes(&rules), ["10.9.0.1:4451 a", "10.9.0.1:4452 b", "[fd09::1]:4451 a"]);
    }

    #[test]
    fn smb_direct_is_at_the_port_of_tcp_unless_that_is_a_port_of_tcp_on_this_device() {
        let both = |address: &str| routes(&[rule(Place::Both(address.parse().unwrap()), None, "a")]);
        assert_eq!(both("10.8.0.1:445"), ["tcp:10.8.0.1:445 a", "10.8.0.1:445 a"]);
        assert_eq!(both("10.9.0.1:445"), ["tcp:10.9.0.1:445 a", "10.9.0.1:5445 a"]);
        assert_eq!(both("10.9.0.1:5445"), ["10.9.0.1:5445 a"]);
        assert_eq!(both("10.7.0.1:445"), ["tcp:10.7.0.1:445 a"]);
        assert_eq!(both("0.0.0.0:445"), ["tcp:0.0.0.0:445 a", "10.8.0.1:445 a", "10.9.0.1:5445 a"]);
        assert_eq!(
            routes(&[rule(Place::Tcp("10.9.0.1:445".parse().unwrap()), None, "a")]),
            ["tcp:10.9.0.1:445 a"]
        );
    }

    #[test]
    fn a_place_is_an_address_or_a_device_and_never_all_addresses_at_once() {
        let place = |address, device| Place::new(address, device);
        assert_eq!(place(None, None), Ok(Place::Any));
        assert_eq!(place(None, Some("siw0")), Ok(Place::Device("siw0".into())));
        assert_eq!(place(Some("[fd09::1]"), None), Ok(Place::Address("fd09::1".parse().unwrap())));
        for (address, device, wanted) in [
            (Some("10.9.0.1"), Some("siw0"), "10.9.0.1 and the device siw0"),
            (Some("::"), None, "cannot listen at ::"),
            (Some("0.0.0.0:445"), None, "cannot listen at 0.0.0.0:445"),
            (Some("10.9.0.1:0"), None, "is 0 at 10.9.0.1:0"),
            (Some("eth0"), None, "'eth0' is no address"),
        ] {
            let said = place(address, device).unwrap_err();
            assert!(said.contains(wanted), "{wanted} is missing in: {said}");
        }
        let twice = Rule::new(Place::Socket("10.9.0.1:445".parse().unwrap()), Some(1), (), Vec::new());
        assert!(twice.unwrap_err().contains("10.9.0.1:445 has port 1 as well"));
        assert!(Rule::new(Place::Any, Some(0), (), Vec::new()).is_err());
    }
}
