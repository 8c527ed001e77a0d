//! What clients are told of other addresses of this server, so that they make more than one connection (MS-SMB2 2.2.32.5).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use smbd_daemon::places::Over;
use smbd_smb2::wire::{InterfaceCapabilities, NetworkInterface};

/// Bits per second of an interface whose speed the system does not know.
const SPEED: u64 = 10_000_000_000;
/// The index of an address whose interface the system does not know, and of each further one the next.
const UNKNOWN: u32 = 1 << 30;

/// An address of this host, and the interface that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    address: IpAddr,
    interface: Option<String>,
}

/// The addresses at which this server is reached, with what the system knows of them. Where all addresses of a family are listened at,
/// all are told but those that lead to no other host.
pub(crate) fn told(
    listened: impl IntoIterator<Item = (Over, SocketAddr)>,
    of_broker: impl IntoIterator<Item = IpAddr>,
) -> Vec<NetworkInterface> {
    let own_listeners = listened.into_iter().map(|(over, address)| (over, address.ip()));
    let listened: Vec<_> =
        own_listeners.chain(of_broker.into_iter().map(|address| (Over::Rdma, address))).collect();
    let own = of_host(|path| fs::read_to_string(path).unwrap_or_default());
    with(&listened, &own, |name, what| {
        let text = fs::read_to_string(format!("/sys/class/net/{name}/{what}")).ok()?;
        text.trim().parse().ok().filter(|number| *number > 0)
    })
}

/// As [`told`], with what the system says of an interface: its `ifindex`, and its `speed` in Mb/s.
fn with(
    listened: &[(Over, IpAddr)],
    own: &[Own],
    system: impl Fn(&str, &str) -> Option<u64>,
) -> Vec<NetworkInterface> {
    let mut all: Vec<IpAddr> = Vec::new();
    for listened in listened.iter().map(|(_, address)| *address) {
        let meant: Vec<IpAddr> = if listened.is_unspecified() {
            let is_meant =
                |own: &&Own| own.address.is_ipv4() == listened.is_ipv4() && is_of_network(own.address);
            own.iter().filter(is_meant).map(|own| own.address).collect()
        } else {
            vec![listened]
        };
        for address in meant {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
    let tell = |(address, number): (IpAddr, u32)| {
        let known = own.iter().find(|own| own.address == address);
        let name = known.and_then(|own| own.interface.as_deref());
        let says = |what| name.and_then(|name| system(name, what));
        let has_rdma = listened.contains(&(Over::Rdma, address));
        NetworkInterface {
            index: says("ifindex").and_then(|index| u32::try_from(index).ok()).unwrap_or(number),
            capabilities: InterfaceCapabilities::RSS_CAPABLE
                .with(InterfaceCapabilities::RDMA_CAPABLE, has_rdma),
            link_speed: says("speed").map_or(SPEED, |speed| speed.saturating_mul(1_000_000)),
            address: Some(address),
        }
    };
    all.into_iter().zip(UNKNOWN..).map(tell).collect()
}

/// Whether another host can have a way to it.
fn is_of_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    }
}

/// All addresses of this host: those of IPv4 in /proc/net/fib_trie, and their interfaces by /proc/net/route; those of IPv6 with their
/// interfaces in /proc/net/if_inet6.
fn of_host(read: impl Fn(&str) -> String) -> Vec<Own> {
    let (trie, routes, v6) =
        (read("/proc/net/fib_trie"), read("/proc/net/route"), read("/proc/net/if_inet6"));
    let mut own: Vec<Own> = Vec::new();
    let mut last = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = last
            && own.iter().all(|other| other.address != IpAddr::V4(address))
        {
            own.push(Own { address: address.into(), interface: interface(address, &routes) });
        }
    }
    for line in v6.lines() {
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|digits| u128::from_str_radix(digits, 16).ok());
        if let Some(address) = address {
            let interface = words.last().map(str::to_owned);
            own.push(Own { address: Ipv6Addr::from_bits(address).into(), interface });
        }
    }
    own
}

/// The interface whose subnet has an address: of several, the one with the longest mask.
fn interface(address: Ipv4Addr, routes: &str) -> Option<String> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok().map(u32::from_be);
        let (destination, mask) = (number(1)?, number(7)?);
        let is_subnet = mask != 0 && address.to_bits() & mask == destination;
        is_subnet.then(|| (mask, words.first().map(|name| (*name).to_owned())))
    };
    let found = routes.lines().skip(1).filter_map(of_line);
    found.max_by_key(|(mask, _)| *mask).and_then(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIE: &str = "\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     |-- 10.9.1.1
        /32 host LOCAL
     |-- 10.9.1.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
Local:
     |-- 10.9.1.1
        /32 host LOCAL
     |-- 192.0.2.7
        /32 host LOCAL
";
    const ROUTES: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100020A\t0003\t0\t0\t0\t00000000\t0\t0\t0
lab0\t0001090A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
wide\t0000090A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
";
    const V6: &str = "\
00000000000000000000000000000001 01 80 10 80       lo
fd000000000000000000000000000001 03 40 00 80     lab0
";

    fn own() -> Vec<Own> {
        of_host(|path| match path {
            "/proc/net/fib_trie" => TRIE.into(),
            "/proc/net/route" => ROUTES.into(),
            _ => V6.into(),
        })
    }

    fn texts(listened: (&[&str], &[&str])) -> Vec<String> {
        let ip = |text: &str| text.parse::<SocketAddr>().unwrap().ip();
        let tcp = listened.0.iter().map(|text| (Over::Tcp, ip(text)));
        let addresses: Vec<_> = tcp.chain(listened.1.iter().map(|text| (Over::Rdma, ip(text)))).collect();
        let system = |name: &str, what: &str| match (name, what) {
            ("lab0", "ifindex") => Some(3),
            ("lab0", "speed") => Some(100_000),
            _ => None,
        };
        let interfaces = with(&addresses, &own(), system);
        let text = |interface: NetworkInterface| {
            let NetworkInterface { index, capabilities, link_speed, address } = interface;
            format!("{} {index} {capabilities} {link_speed}", address.unwrap())
        };
        interfaces.into_iter().map(text).collect()
    }

    #[test]
    fn addresses_have_the_interface_whose_subnet_they_are_in() {
        let of = |address: &str, interface: Option<&str>| Own {
            address: address.parse().unwrap(),
            interface: interface.map(str::to_owned),
        };
        let all = [
            of("10.9.1.1", Some("lab0")),
            of("127.0.0.1", None),
            of("192.0.2.7", None),
            of("::1", Some("lo")),
            of("fd00::1", Some("lab0")),
        ];
        assert_eq!(own(), all);
    }

    #[test]
    fn each_address_that_is_listened_at_is_told_once_and_those_of_devices_have_rdma() {
        assert_eq!(
            texts((&["10.9.1.1:445", "127.0.0.1:445"], &["10.9.1.1:5445"])),
            [
                "10.9.1.1 3 RSS_CAPABLE | RDMA_CAPABLE 100000000000",
                "127.0.0.1 1073741825 RSS_CAPABLE 10000000000"
            ]
        );
    }

    #[test]
    fn who_listens_at_all_addresses_tells_those_that_lead_to_other_hosts() {
        let v4 = texts((&["0.0.0.0:445"], &["10.9.1.1:445"]));
        assert_eq!(
            v4,
            [
                "10.9.1.1 3 RSS_CAPABLE | RDMA_CAPABLE 100000000000",
                "192.0.2.7 1073741825 RSS_CAPABLE 10000000000"
            ]
        );
        assert_eq!(texts((&["[::]:445"], &[])), ["fd00::1 3 RSS_CAPABLE 100000000000"]);
    }
}
