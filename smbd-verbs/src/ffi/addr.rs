//! Socket addresses as C structures.

use std::{
    mem,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
};

use libc::{AF_INET, AF_INET6, sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_storage};

/// A socket address in the shape of C, with room and alignment for every family.
pub(super) struct RawAddr(sockaddr_storage);

impl RawAddr {
    pub(super) fn new(address: SocketAddr) -> Self {
        // SAFETY: `sockaddr_storage` is plain integers; all of them may be zero.
        let mut storage: sockaddr_storage = unsafe { mem::zeroed() };
        match address {
            // SAFETY: `sockaddr_storage` is at least as large and as aligned as `sockaddr_in`.
            SocketAddr::V4(v4) => unsafe { (&raw mut storage).cast::<sockaddr_in>().write(in4(v4)) },
            // SAFETY: `sockaddr_storage` is at least as large and as aligned as `sockaddr_in6`.
            SocketAddr::V6(v6) => unsafe { (&raw mut storage).cast::<sockaddr_in6>().write(in6(v6)) },
        }
        Self(storage)
    }

    /// For calls that only read it but are declared to take it mutable.
    pub(super) const fn as_mut_ptr(&mut self) -> *mut sockaddr {
        (&raw mut self.0).cast()
    }
}

const fn in4(address: SocketAddrV4) -> sockaddr_in {
    sockaddr_in {
        sin_family: AF_INET as sa_family_t,
        sin_port: address.port().to_be(),
        // The bytes of an address are in network order already.
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    }
}

const fn in6(address: SocketAddrV6) -> sockaddr_in6 {
    sockaddr_in6 {
        sin6_family: AF_INET6 as sa_family_t,
        sin6_port: address.port().to_be(),
        sin6_flowinfo: address.flowinfo(),
        sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
        sin6_scope_id: address.scope_id(),
    }
}

/// The address at `raw`; `None` if it is of no family known here, such as one that was never set.
///
/// # Safety
/// `raw` points to readable memory of a `sockaddr_storage`, or of the structure of the family that it begins with.
/// No alignment is needed.
pub(super) unsafe fn read(raw: *const sockaddr) -> Option<SocketAddr> {
    // SAFETY: every address begins with its family, and the caller says it is readable.
    let family = unsafe { raw.cast::<sa_family_t>().read_unaligned() };
    match i32::from(family) {
        AF_INET => {
            // SAFETY: the family says which structure it is; the caller says it is readable.
            let v4 = unsafe { raw.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { raw.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_address_comes_back(
            ip in any::<std::net::IpAddr>(), port in any::<u16>(), flow in any::<u32>(), scope in any::<u32>(),
        ) {
            let address = match ip {
                std::net::IpAddr::V4(ip) => SocketAddr::from((ip, port)),
                std::net::IpAddr::V6(ip) => SocketAddrV6::new(ip, port, flow, scope).into(),
            };
            let mut raw = RawAddr::new(address);
            // SAFETY: it was just made, with room for every family.
            prop_assert_eq!(unsafe { read(raw.as_mut_ptr()) }, Some(address));
        }
    }

    #[test]
    fn an_address_that_was_never_set_is_none() {
        let zeros = [0_u64; 16];
        // SAFETY: 128 readable bytes, the size of a `sockaddr_storage`.
        assert_eq!(unsafe { read(zeros.as_ptr().cast()) }, None);
    }

    #[test]
    fn port_and_address_are_in_network_order() {
        let mut raw = RawAddr::new("10.9.0.1:5445".parse().unwrap());
        // SAFETY: a `sockaddr_in` begins with family, port and address, 8 bytes.
        let bytes = unsafe { raw.as_mut_ptr().cast::<[u8; 8]>().read() };
        assert_eq!(bytes[2..], [0x15, 0x45, 10, 9, 0, 1]);
    }
}
