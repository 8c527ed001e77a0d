//! Networks of IP addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// All addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    address: IpAddr,
    prefix_len: u8,
}

impl Network {
    /// The network in which `address` is, with a prefix of so many bits, at most all of them.
    #[must_use]
    pub fn of(address: IpAddr, prefix_len: u8) -> Self {
        let address = address.to_canonical();
        let prefix_len = prefix_len.min(bits(address));
        let rest = u32::from(bits(address).saturating_sub(prefix_len));
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(rest).unwrap_or(0);
                Ipv4Addr::from_bits(v4.to_bits() & mask).into()
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
                Ipv6Addr::from_bits(v6.to_bits() & mask).into()
            }
        };
        Self { address, prefix_len }
    }

    /// Whether it has this address. An IPv4 address in IPv6 clothes is one of IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        address.to_canonical().is_ipv4() == self.address.is_ipv4()
            && Self::of(address, self.prefix_len) == *self
    }

    /// Whether an address is the one of the network itself or that of its broadcasts: all other bits are 0, or all are 1.
    #[must_use]
    pub fn is_edge(&self, address: IpAddr) -> bool {
        let prefix_len = u32::from(self.prefix_len);
        let (others, all) = match address.to_canonical() {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shr(prefix_len).unwrap_or(0);
                (u128::from(v4.to_bits() & mask), u128::from(mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shr(prefix_len).unwrap_or(0);
                (v6.to_bits() & mask, mask)
            }
        };
        self.contains(address) && (others == 0 || others == all)
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no network; write ADDRESS/BITS, such as 10.9.0.0/24, or an address");
        let (address, prefix_len) = text.split_once('/').map_or((text, None), |(a, len)| (a, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = bits(address);
        let prefix_len = prefix_len.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if prefix_len > most {
            return Err(format!("'{text}' has a prefix of {prefix_len} bits, and can have {most} at most"));
        }
        Ok(Self::of(address, prefix_len))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
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
