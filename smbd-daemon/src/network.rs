//! Networks of IP addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

/// Bits before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// All addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpNet);

impl Network {
    /// Network of `address` with a prefix of `prefix_len` bits. Longer prefixes than an address has bits count as all of its bits.
    #[must_use]
    pub fn of(address: IpAddr, prefix_len: u8) -> Self {
        let address = address.to_canonical();
        let longest = IpNet::from(address);
        Self(IpNet::new(address, prefix_len).unwrap_or(longest).trunc())
    }

    /// Whether the network has this address. An IPv4-mapped IPv6 address is one of IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Whether the bits of an address behind the network's prefix are all 0, as in the network's own address, or all 1, as in its
    /// broadcast address.
    #[must_use]
    pub fn is_edge(&self, address: IpAddr) -> bool {
        [self.0.network(), self.0.broadcast()].contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no network; write ADDRESS/BITS, such as 10.9.0.0/24, or an address");
        let (address, prefix_len) = text.split_once('/').map_or((text, None), |(a, len)| (a, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = IpNet::from(address).prefix_len();
        let prefix_len = prefix_len.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if prefix_len > most {
            return Err(format!("'{text}' has a prefix of {prefix_len} bits, and can have {most} at most"));
        }
        if address == address.to_canonical() {
            return Ok(Self::of(address, prefix_len));
        }
        let of_ipv4 = prefix_len.checked_sub(MAPPED_BITS);
        Ok(Self::of(address, of_ipv4.ok_or_else(|| format!("'{text}' has addresses of both IPv4 and IPv6"))?))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_like_it() {
        for (network, inside, outside) in [
            ("10.9.0.7/24", "10.9.0.255", "10.9.1.0"),
            ("10.9.0.1", "10.9.0.1", "10.9.0.2"),
            ("fd09::/64", "fd09::ffff", "fd09:0:0:1::"),
            ("10.9.0.0/24", "::ffff:10.9.0.3", "fd09::1"),
            ("128.0.0.0/1", "255.0.0.1", "127.0.0.1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{inside} in {network}");
            assert!(!network.contains(outside.parse().unwrap()), "{outside} in {network}");
        }
        assert_eq!("10.9.0.7/24".parse::<Network>().unwrap().to_string(), "10.9.0.0/24");
        assert!("0.0.0.0/0".parse::<Network>().unwrap().contains("1.2.3.4".parse().unwrap()));
        assert!(!"0.0.0.0/0".parse::<Network>().unwrap().contains("fd09::1".parse().unwrap()));
    }

    #[test]
    fn the_edges_of_a_network_are_its_first_and_its_last_address() {
        for (network, address, is_edge) in [
            ("10.9.0.0/24", "10.9.0.0", true),
            ("10.9.0.0/24", "10.9.0.255", true),
            ("10.9.0.0/24", "10.9.0.1", false),
            ("10.9.0.0/24", "10.9.1.0", false),
            ("10.9.0.1/32", "10.9.0.1", true),
            ("fd09::/64", "fd09::", true),
            ("fd09::/64", "fd09::1", false),
            ("0.0.0.0/0", "255.255.255.255", true),
        ] {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.is_edge(address.parse().unwrap()), is_edge, "{address} of {network}");
        }
    }

    #[test]
    fn a_prefix_of_ipv4_addresses_that_are_written_as_ipv6_counts_the_bits_of_ipv6() {
        let network: Network = "::ffff:10.9.0.0/120".parse().unwrap();
        assert_eq!(network.to_string(), "10.9.0.0/24");
        assert!("::ffff:10.9.0.0/95".parse::<Network>().is_err());
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for wrong in ["", "10.9.0.0/33", "fd09::/129", "10.9.0.0/", "10.9/8", "10.9.0.0/-1", "10.9.0.0/24/1"]
        {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_in_each_of_its_networks(address in any::<IpAddr>(), prefix_len in 0_u8..=128) {
            prop_assert!(Network::of(address, prefix_len).contains(address));
        }
    }
}
