//! An item of `interfaces`.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::values::folded;
use smbd_daemon::network::Network;

/// The network interface that has the loopback addresses.
const LOOPBACK_DEVICE: &str = "lo";

/// What an item of `interfaces` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    /// A network interface, maybe with `*` and `?`; an address; or an address and a mask.
    pub(crate) name: String,
    pub(crate) is_rdma: bool,
    pub(crate) speed: Speed,
    /// It has an `if_index`.
    pub(crate) has_index: bool,
}

/// What it says of the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speed {
    /// Nothing: Samba asks the system.
    Unset,
    /// 0 or no number: Samba passes over it.
    Useless,
    /// In bits per second.
    Bits(u64),
}

/// What an item means.
enum Named {
    /// A network interface, or the name of a host.
    Pattern,
    Address(IpAddr),
    /// Addresses of a network: its own address was given, or that of its broadcasts.
    Network(Network),
    /// An address with a mask: Samba does not look for the interface that has it.
    MadeUp(IpAddr),
}

impl Interface {
    /// Reads an item, without quotes.
    pub(crate) fn parse(item: &str) -> Self {
        let (name, extra) = item.split_once(';').unwrap_or((item, ""));
        let (mut is_rdma, mut speed, mut has_index) = (false, Speed::Unset, false);
        for (key, value) in extra.split(',').filter_map(|pair| pair.split_once('=')) {
            match (folded(key).as_str(), folded(value).as_str()) {
                ("capability", "rdma") => is_rdma = true,
                ("speed", number) => {
                    speed = match number.parse() {
                        Ok(bits) if bits > 0 => Speed::Bits(bits),
                        _ => Speed::Useless,
                    }
                }
                ("if_index", number) => has_index = number.parse().is_ok_and(|index: u32| index > 0),
                _ => {}
            }
        }
        Self { name: name.to_owned(), is_rdma, speed, has_index }
    }

    /// Whether it names this address of this network interface.
    pub(crate) fn names(&self, address: IpAddr, device: &str) -> bool {
        match self.named() {
            Named::Pattern => matches(&self.name, device),
            Named::Address(own) | Named::MadeUp(own) => own == address,
            Named::Network(network) => network.contains(address),
        }
    }

    /// Whether it names a loopback address. Of them the interface has two, 127.0.0.1 and ::1; others have to be written with a mask.
    pub(crate) fn names_loopback(&self, address: IpAddr) -> bool {
        let is_of_interface =
            [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&address);
        self.names(address, LOOPBACK_DEVICE) && (is_of_interface || matches!(self.named(), Named::MadeUp(_)))
    }

    /// Whether Samba gives it the index 0: clients of Windows pass over such interfaces.
    pub(crate) fn lacks_index(&self) -> bool {
        !self.has_index && matches!(self.named(), Named::MadeUp(_))
    }

    fn named(&self) -> Named {
        match network(&self.name) {
            None => Named::Pattern,
            Some((address, _)) if !self.name.contains('/') => Named::Address(address),
            Some((address, network)) if network.is_edge(address) => Named::Network(network),
            Some((address, _)) => Named::MadeUp(address),
        }
    }
}

/// An address and the network in which a mask puts it; without a mask it is alone there. `None` if it is none.
pub(crate) fn network(text: &str) -> Option<(IpAddr, Network)> {
    let (address, mask) = text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
    let address = address.parse().ok()?;
    let bits = mask.map_or(Some(u8::MAX), prefix_len)?;
    Some((address, Network::of(address, bits)))
}

/// The length of a prefix in bits: a number, or the ones of a mask.
fn prefix_len(mask: &str) -> Option<u8> {
    let ones = |mask: IpAddr| match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    mask.parse().ok().or_else(|| u8::try_from(ones(mask.parse().ok()?)).ok())
}

/// Whether a name matches a pattern with `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // How much of the name what was read of the pattern may stand for.
    let mut read = BTreeSet::from([0]);
    for c in pattern.chars() {
        read = match (c, read.first()) {
            (_, None) => return false,
            ('*', Some(&least)) => (least..=name.len()).collect(),
            _ => {
                let is_next = |at: &usize| name.get(*at).is_some_and(|other| c == '?' || c == *other);
                read.into_iter().filter(is_next).map(|at| at.saturating_add(1)).collect()
            }
        };
    }
    read.contains(&name.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(item: &str) -> bool {
        Interface::parse(item).names("10.9.0.1".parse().unwrap(), "eth0")
    }

    #[test]
    fn an_interface_is_named_as_samba_lets_it() {
        for item in [
            "eth0",
            "eth*",
            "*",
            "e?h0",
            "10.9.0.1",
            "10.9.0.0/24",
            "10.9.0.0/255.255.255.0",
            "10.9.0.255/24",
        ] {
            assert!(names(item), "{item}");
        }
        for item in ["eth1", "et", "eth0?", "10.9.0.2", "10.9.1.0/24", "lo", "10.9.0.2/24", ""] {
            assert!(!names(item), "{item}");
        }
        for (item, address, is_named) in [
            ("lo", "127.0.0.1", true),
            ("lo", "::1", true),
            ("127.0.0.0/8", "127.0.0.1", true),
            ("lo", "127.0.0.2", false),
            ("127.0.0.2", "127.0.0.2", false),
            ("127.0.0.2/8", "127.0.0.2", true),
        ] {
            let named = Interface::parse(item).names_loopback(address.parse().unwrap());
            assert_eq!(named, is_named, "{item} {address}");
        }
    }

    #[test]
    fn what_is_behind_the_semicolon_is_read() {
        let interface = Interface::parse("eth0;capability=RSS,capability=rdma,speed=100000000000,if_index=4");
        assert!(interface.is_rdma && interface.has_index);
        assert_eq!((interface.name.as_str(), interface.speed), ("eth0", Speed::Bits(100_000_000_000)));
        for (item, speed) in
            [("a", Speed::Unset), ("a;speed=0", Speed::Useless), ("a;speed=10G", Speed::Useless)]
        {
            assert_eq!(Interface::parse(item).speed, speed, "{item}");
        }
        assert!(!Interface::parse("a;capability=RSS").is_rdma);
    }

    /// Of an address with a mask Samba makes an interface of its own, unless it is the network's own address.
    #[test]
    fn an_address_with_a_mask_lacks_an_index_unless_it_is_given() {
        for (item, lacks) in [
            ("10.9.0.1/24", true),
            ("fd09::1/64", true),
            ("10.9.0.1/24;if_index=3", false),
            ("10.9.0.0/24", false),
            ("10.9.0.1/32", false),
            ("10.9.0.1", false),
            ("eth0", false),
        ] {
            assert_eq!(Interface::parse(item).lacks_index(), lacks, "{item}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_what_it_was_made_from(name in "[a-z0-9.]{0,15}", cut in 0_usize..16, len in 0_usize..16) {
            let (from, to) = (cut.min(name.len()), cut.saturating_add(len).min(name.len()));
            let pattern = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(matches(&pattern, &name));
            let longer = format!("{name}x");
            prop_assert!(matches(&name, &name) && !matches(&name, &longer));
        }

        #[test]
        fn any_item_can_be_read(item in ".*", address in any::<IpAddr>()) {
            let interface = Interface::parse(&item);
            let _ = (interface.names(address, "eth0"), interface.lacks_index());
        }
    }
}
