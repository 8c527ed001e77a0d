//! The addresses of the network interfaces of this host.

use std::{ffi::CStr, net::IpAddr, ptr};

use super::{
    addr,
    error::{CallError, ok},
};

/// An address of an interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceAddress {
    /// The name of the interface, such as `eth0`.
    pub(crate) interface: String,
    pub(crate) address: IpAddr,
    /// Bits of the address that name its subnet.
    pub(crate) prefix_len: u8,
    pub(crate) is_loopback: bool,
}

/// All addresses of interfaces that are up.
pub(crate) fn addresses() -> Result<Vec<InterfaceAddress>, CallError> {
    let mut list = ptr::null_mut();
    // SAFETY: the list is written if 0 is returned.
    ok("getifaddrs", unsafe { libc::getifaddrs(&raw mut list) })?;
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: an entry of the list, which lives until it is freed below.
        let entry = unsafe { &*next };
        // SAFETY: as above; its name ends with a zero, and its addresses are of the families they begin with.
        found.extend(unsafe { read(entry) });
        next = entry.ifa_next;
    }
    // SAFETY: it came from `getifaddrs` and is freed once.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// # Safety
/// `entry` is one of `getifaddrs`.
unsafe fn read(entry: &libc::ifaddrs) -> Option<InterfaceAddress> {
    let has = |flag: libc::c_int| u32::try_from(flag).is_ok_and(|flag| entry.ifa_flags & flag != 0);
    if !has(libc::IFF_UP) || entry.ifa_addr.is_null() || entry.ifa_netmask.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let (address, mask) = unsafe { (addr::read(entry.ifa_addr), addr::read(entry.ifa_netmask)) };
    // SAFETY: as above.
    let interface = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
    let (address, prefix_len) = (address?.ip(), ones(mask?.ip()));
    Some(InterfaceAddress { interface, address, prefix_len, is_loopback: has(libc::IFF_LOOPBACK) })
}

/// How many bits a mask begins with that are set.
fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    u8::try_from(ones).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_as_long_as_the_mask_has_ones() {
        for (mask, len) in
            [("255.255.255.0", 24), ("255.255.255.255", 32), ("0.0.0.0", 0), ("ffff:ffff::", 32)]
        {
            assert_eq!(ones(mask.parse().unwrap()), len, "{mask}");
        }
    }

    #[test]
    fn loopback_is_among_the_addresses_of_a_host() {
        let loopback = |found: &InterfaceAddress| found.is_loopback && found.address.is_loopback();
        assert!(addresses().unwrap().iter().any(loopback));
    }
}
