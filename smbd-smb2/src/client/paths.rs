//! Between which addresses further connections of a session are made (3.2.5.14.11, and the product note on its choice). Plain
//! arithmetic.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::operation::Operation;
use crate::wire::{ControlCode, FileId, InterfaceCapabilities, IoctlFlags, IoctlRequest, NetworkInterface};

/// The most addresses of a server that are looked at.
const REMOTE_MAX: usize = 64;

/// The most bytes that a server may say of its interfaces.
const OUTPUT_MAX: u32 = 65536;

/// How data go between two addresses. The preferred one is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathKind {
    /// Over TCP.
    Tcp,
    /// Over TCP between interfaces that spread connections over processors (RSS).
    Rss,
    /// Over SMB Direct.
    Rdma,
}

impl PathKind {
    /// How many connections are made between two addresses.
    #[must_use]
    pub const fn connections(self) -> u16 {
        match self {
            Self::Tcp => 1,
            Self::Rss => 4,
            Self::Rdma => 2,
        }
    }
}

/// Two addresses between which connections are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// This side's address.
    pub local: IpAddr,
    /// The server's.
    pub remote: IpAddr,
    /// How data go.
    pub kind: PathKind,
    /// The speed of the slower side, in bits per second.
    pub link_speed: u64,
}

/// The IOCTL that asks a server for its interfaces (3.2.4.20.10), in any tree connect. The output of its answer is read as
/// [`NetworkInterfaces`](crate::wire::NetworkInterfaces).
#[must_use]
pub fn interface_query() -> Operation<'static> {
    Operation::Ioctl(IoctlRequest {
        control_code: ControlCode::QUERY_NETWORK_INTERFACE_INFO,
        file_id: FileId::RELATED,
        max_output_response: OUTPUT_MAX,
        flags: IoctlFlags::IS_FSCTL,
        ..IoctlRequest::default()
    })
}

/// Chooses between which addresses connections are made: RDMA if both sides have it, otherwise RSS, and of these the fastest. Each
/// interface that is part of such a pair is used, as evenly as possible, and no pair is there that is not needed for this.
///
/// Left out are interfaces with the index 0, link-local addresses of interfaces that have others, and pairs of a link-local address and one
/// that is not. `local` has the addresses of this side; those whose port is used for RDMA say so in their capabilities. Of the server's
/// the first 64 count.
#[must_use]
pub fn paths(local: &[NetworkInterface], remote: &[NetworkInterface]) -> Vec<Path> {
    let remote = remote.get(..REMOTE_MAX).unwrap_or(remote);
    let mut pairs: Vec<_> = usable(local)
        .flat_map(|local| usable(remote).filter_map(move |remote| Pair::new(local, remote)))
        .collect();
    let best = pairs.iter().map(Pair::rank).max();
    pairs.retain(|pair| Some(pair.rank()) == best);
    spread(pairs)
}

/// Addresses that can be used, each with its interface.
fn usable(interfaces: &[NetworkInterface]) -> impl Iterator<Item = (&NetworkInterface, IpAddr)> {
    let is_global = |other: &NetworkInterface| other.address.is_some_and(|address| !is_link_local(address));
    let has_global = move |index| interfaces.iter().any(|other| other.index == index && is_global(other));
    interfaces.iter().filter_map(move |interface| {
        let address = interface.address?;
        let is_left_out = interface.index == 0 || (is_link_local(address) && has_global(interface.index));
        (!is_left_out).then_some((interface, address))
    })
}

const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// A path, and which interfaces it is between.
#[derive(Clone, Copy, Debug)]
struct Pair {
    path: Path,
    local: u32,
    remote: u32,
}

impl Pair {
    fn new(
        (from, local): (&NetworkInterface, IpAddr),
        (to, remote): (&NetworkInterface, IpAddr),
    ) -> Option<Self> {
        if local.is_ipv4() != remote.is_ipv4() || is_link_local(local) != is_link_local(remote) {
            return None;
        }
        let both = |can| from.capabilities.contains(can) && to.capabilities.contains(can);
        let kind = if both(InterfaceCapabilities::RDMA_CAPABLE) {
            PathKind::Rdma
        } else if both(InterfaceCapabilities::RSS_CAPABLE) {
            PathKind::Rss
        } else {
            PathKind::Tcp
        };
        let link_speed = from.link_speed.min(to.link_speed);
        Some(Self { path: Path { local, remote, kind, link_speed }, local: from.index, remote: to.index })
    }

    const fn rank(&self) -> (PathKind, u64) {
        (self.path.kind, self.path.link_speed)
    }
}

/// Takes pairs until no interface is left unused: first those of which both sides are.
fn spread(mut left: Vec<Pair>) -> Vec<Path> {
    let mut taken: Vec<Pair> = Vec::new();
    loop {
        let uses = |pair: &Pair| {
            let local = taken.iter().filter(|other| other.local == pair.local).count();
            let remote = taken.iter().filter(|other| other.remote == pair.remote).count();
            (local == 0 || remote == 0).then_some(local.saturating_add(remote))
        };
        left.retain(|pair| uses(pair).is_some());
        let Some(next) = left.iter().copied().min_by_key(|pair| uses(pair)) else { break };
        taken.push(next);
    }
    taken.into_iter().map(|pair| pair.path).collect()
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use proptest::prelude::*;

    use super::*;

    const RSS: InterfaceCapabilities = InterfaceCapabilities::RSS_CAPABLE;
    const RDMA: InterfaceCapabilities = InterfaceCapabilities::RDMA_CAPABLE;
    const NONE: InterfaceCapabilities = InterfaceCapabilities::NONE;

    fn interface(
        index: u32,
        capabilities: InterfaceCapabilities,
        link_speed: u64,
        text: &str,
    ) -> NetworkInterface {
        NetworkInterface { index, capabilities, link_speed, address: Some(text.parse().unwrap()) }
    }

    fn said(local: &[NetworkInterface], remote: &[NetworkInterface]) -> Vec<(String, String, PathKind, u64)> {
        let text = |path: Path| (path.local.to_string(), path.remote.to_string(), path.kind, path.link_speed);
        paths(local, remote).into_iter().map(text).collect()
    }

    fn one(local: &str, remote: &str, kind: PathKind, speed: u64) -> Vec<(String, String, PathKind, u64)> {
        Vec::from([(local.into(), remote.into(), kind, speed)])
    }

    #[test]
    fn rdma_comes_before_rss_and_rss_before_what_is_faster() {
        let ends = |capabilities: [InterfaceCapabilities; 3]| {
            let ends = |net| {
                let addresses = ["1", "2", "3"].map(|host| alloc::format!("10.0.{net}.{host}"));
                let numbered = (1..).zip(capabilities).zip(addresses);
                numbered
                    .map(|((index, can), text)| interface(index, can, index.into(), &text))
                    .collect::<Vec<_>>()
            };
            said(&ends(0), &ends(1))
        };
        assert_eq!(ends([RDMA, RSS, NONE]), one("10.0.0.1", "10.0.1.1", PathKind::Rdma, 1));
        assert_eq!(ends([NONE, RSS, NONE]), one("10.0.0.2", "10.0.1.2", PathKind::Rss, 2));
        assert_eq!(ends([NONE, NONE, NONE]), one("10.0.0.3", "10.0.1.3", PathKind::Tcp, 3));
    }

    #[test]
    fn a_pair_is_as_fast_and_can_as_much_as_its_lesser_side() {
        let local = [interface(1, RDMA | RSS, 100, "10.0.0.1")];
        let remote = [interface(1, RSS, 25, "10.0.0.2")];
        assert_eq!(said(&local, &remote), one("10.0.0.1", "10.0.0.2", PathKind::Rss, 25));
    }

    #[test]
    fn two_interfaces_on_each_side_make_two_pairs_and_one_and_two_make_two_as_well() {
        let side = |net| [1, 2].map(|at| interface(at, RDMA, 10, &alloc::format!("10.0.{net}.{at}")));
        let pairs = said(&side(0), &side(1));
        let ends: Vec<_> = pairs.iter().map(|pair| (pair.0.as_str(), pair.1.as_str())).collect();
        assert_eq!(ends, [("10.0.0.1", "10.0.1.1"), ("10.0.0.2", "10.0.1.2")]);
        assert_eq!(said(&side(0)[..1], &side(1)).len(), 2);
    }

    #[test]
    fn the_index_0_unknown_families_and_link_local_addresses_beside_others_are_left_out() {
        let local = [interface(1, NONE, 1, "fe80::1"), interface(2, NONE, 1, "2001:db8::1")];
        let unknown = NetworkInterface { address: None, ..interface(3, NONE, 1, "::1") };
        let remote = [
            interface(0, NONE, 1, "2001:db8::2"),
            interface(1, NONE, 1, "fe80::2"),
            interface(1, NONE, 1, "2001:db8::3"),
            unknown,
        ];
        assert_eq!(said(&local, &remote), one("2001:db8::1", "2001:db8::3", PathKind::Tcp, 1));
        assert_eq!(said(&local, &remote[1..2]), one("fe80::1", "fe80::2", PathKind::Tcp, 1));
    }

    fn side() -> impl Strategy<Value = Vec<NetworkInterface>> {
        let one =
            (0..4_u32, 0..4_u32, 1..3_u64, any::<[u8; 2]>()).prop_map(|(index, can, link_speed, end)| {
                let address = Some(IpAddr::from([10, 0, end[0], end[1]]));
                NetworkInterface { index, capabilities: InterfaceCapabilities(can), link_speed, address }
            });
        prop::collection::vec(one, 0..8)
    }

    proptest! {
        #[test]
        fn all_paths_are_of_one_kind_and_speed_and_no_pair_is_better(local in side(), remote in side()) {
            let chosen = paths(&local, &remote);
            let pairs: Vec<_> = local.iter().filter(|one| one.index > 0)
                .flat_map(|from| remote.iter().filter(|one| one.index > 0).map(move |to| (from, to)))
                .filter_map(|(from, to)| Pair::new((from, from.address?), (to, to.address?)))
                .collect();
            prop_assert_eq!(chosen.is_empty(), pairs.is_empty());
            for path in &chosen {
                prop_assert!(pairs.iter().all(|pair| pair.rank() <= (path.kind, path.link_speed)));
            }
        }

        #[test]
        fn each_interface_of_a_best_pair_is_used_and_there_are_no_more_paths_than_interfaces(local in side(), remote in side()) {
            let pairs: Vec<_> = usable(&local)
                .flat_map(|from| usable(&remote).filter_map(move |to| Pair::new(from, to)))
                .collect();
            let best = pairs.iter().map(Pair::rank).max();
            let best: Vec<_> = pairs.into_iter().filter(|pair| Some(pair.rank()) == best).collect();
            let chosen = spread(best.clone());
            let of = |path: &Path| *best.iter().find(|pair| pair.path == *path).unwrap();
            let used: Vec<_> = chosen.iter().map(of).collect();
            for pair in &best {
                prop_assert!(used.iter().any(|other| other.local == pair.local));
                prop_assert!(used.iter().any(|other| other.remote == pair.remote));
            }
            let sides = |side: fn(&Pair) -> u32| {
                let mut all: Vec<_> = best.iter().map(side).collect();
                all.sort_unstable();
                all.dedup();
                all.len()
            };
            prop_assert!(chosen.len() <= sides(|pair| pair.local) + sides(|pair| pair.remote));
        }
    }
}
