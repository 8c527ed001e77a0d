//! The ports of SMB Direct: 445 on InfiniBand and RoCE, 5445 on iWARP, where 445 is the port of SMB over TCP.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::ffi::{CmId, EventChannel};
use crate::{Error, LinkType};

/// Port of SMB Direct on InfiniBand and RoCE.
pub const PORT_ROCE: u16 = 445;
/// Port of SMB Direct on iWARP, which shares the ports of TCP.
pub const PORT_IWARP: u16 = 5445;

/// The ports of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// The port of the address, for all types of link.
    #[default]
    Fixed,
    /// [`PORT_ROCE`] and [`PORT_IWARP`], each for its own type of link. At an address of one device, only the port of
    /// that device. At the unspecified address both; then port 445 must be free in iWARP's TCP, too.
    ByLinkType,
}

impl Ports {
    /// Whether a request over this kind of link belongs on this port.
    pub(super) const fn serves(self, link_type: LinkType, port: u16) -> bool {
        match self {
            Self::Fixed => true,
            Self::ByLinkType => port_of(link_type) == port,
        }
    }
}

/// The port of SMB Direct on this type of link.
#[must_use]
pub const fn port_of(link_type: LinkType) -> u16 {
    match link_type {
        LinkType::InfiniBand | LinkType::Roce => PORT_ROCE,
        LinkType::Iwarp => PORT_IWARP,
    }
}

/// Ids bound to the ports.
pub(super) fn bind(
    channel: &Arc<EventChannel>,
    address: SocketAddr,
    ports: Ports,
) -> Result<Vec<CmId>, Error> {
    let at = |port: u16| -> Result<CmId, Error> {
        let id = CmId::create(channel)?;
        // As every server: an earlier life's connections must not keep the port.
        id.set_reuse_address(true)?;
        if address.is_ipv6() {
            // A listener of its own serves IPv4.
            id.set_v6_only(true)?;
        }
        id.bind(SocketAddr::new(address.ip(), port))?;
        Ok(id)
    };
    match ports {
        Ports::Fixed => Ok(vec![at(address.port())?]),
        Ports::ByLinkType if address.ip().is_unspecified() => Ok(vec![at(PORT_ROCE)?, at(PORT_IWARP)?]),
        Ports::ByLinkType => {
            // Any port tells which device has the address.
            let probe = at(0)?;
            let device = probe.device().ok_or(Error::NoDevice { address })?;
            let port = port_of(device.link_type(probe.port_number())?);
            Ok(vec![at(port)?])
        }
    }
}
