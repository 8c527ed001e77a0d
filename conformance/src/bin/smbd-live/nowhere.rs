//! An address to which nothing leads.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// For documents only (RFC 5737).
pub(crate) const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));

/// Whether a route of this host leads there, as a default route does: packets leave then, and are lost on their way.
pub(crate) fn is_routed() -> bool {
    // Connecting such a socket looks for a route, and sends nothing.
    let looked = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| socket.connect((NOWHERE, 9)));
    looked.is_ok()
}
