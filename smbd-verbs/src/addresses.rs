//! The RDMA devices of this host, and the addresses that belong to them.

use std::net::{IpAddr, SocketAddr};

use crate::ffi::{CmId, Device, EventChannel, interface_addresses};
use crate::{DeviceAttributes, Error, LinkType};

/// An IP address of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceAddress {
    /// The address.
    pub address: IpAddr,
    /// Length of the prefix that names its subnet, in bits.
    pub prefix_len: u8,
    /// The network interface that has the address, such as `eth0`.
    pub interface: String,
    /// The RDMA device, such as `mlx5_0`.
    pub device: String,
    /// The type of the link.
    pub link_type: LinkType,
}

/// The RDMA devices of this host, whether or not they have addresses. They stay open as long as the process lives. Returns at
/// once.
///
/// # Errors
/// There is no RDMA device that this user may open, or one cannot be asked.
pub fn devices() -> Result<Vec<DeviceAttributes>, Error> {
    Device::all()?.into_iter().map(|device| Ok(device.attributes()?)).collect()
}

/// The addresses of this host at which an RDMA device can be listened on, in the order of the system. Only interfaces that are
/// up count. Loopback and link-local addresses are left out: the first lead to no other host, the second need the number of an
/// interface. Returns at once.
///
/// # Errors
/// There is no RDMA connection manager, or the interfaces cannot be read.
pub fn device_addresses() -> Result<Vec<DeviceAddress>, Error> {
    let channel = EventChannel::open()?;
    let mut found = Vec::new();
    for known in interface_addresses()? {
        let is_local = match known.address {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        };
        if is_local || known.is_loopback {
            continue;
        }
        let id = CmId::create(&channel)?;
        // Any port tells which device has the address; it is an error if none has it.
        if id.bind(SocketAddr::new(known.address, 0)).is_err() {
            continue;
        }
        let Some(device) = id.device() else { continue };
        let link_type = device.link_type(id.port_number())?;
        let (address, prefix_len) = (known.address, known.prefix_len);
        found.push(DeviceAddress {
            address,
            prefix_len,
            interface: known.interface,
            device: device.name(),
            link_type,
        });
    }
    Ok(found)
}

/// The length of the prefix, in bits, of the subnet in which this host has `address`, on whatever interface; `None` if it does
/// not have it. Returns at once.
///
/// # Errors
/// The interfaces cannot be read.
pub fn prefix_len_of(address: IpAddr) -> Result<Option<u8>, Error> {
    let all = interface_addresses()?;
    Ok(all.into_iter().find(|known| known.address == address).map(|known| known.prefix_len))
}
