//! Network interfaces of a server (2.2.32.5): what FSCTL_QUERY_NETWORK_INTERFACE_INFO gives.

use core::net::IpAddr;

use super::error::WireError;
use super::layout::layout;
use super::names::{flags, values};
use super::reader;
use super::records::{Record, Records};
use super::writer::Writer;

flags! {
    /// What a network interface can do (2.2.32.5).
    pub struct InterfaceCapabilities(u32) {
        RSS_CAPABLE = 0x0000_0001 "RSS_CAPABLE",
        RDMA_CAPABLE = 0x0000_0002 "RDMA_CAPABLE",
    }
}

values! {
    /// The family of an address (2.2.32.5.1).
    pub struct AddressFamily(u16) {
        INTER_NETWORK = 0x0002 "InterNetwork",
        INTER_NETWORK_V6 = 0x0017 "InterNetworkV6",
    }
}

layout! {
    /// Fields of a network interface (2.2.32.5), from its beginning.
    pub mod field: "NETWORK_INTERFACE_INFO", "2.2.32.5", from 0;
    NEXT: u32 = "Next" at 0;
    IF_INDEX: u32 = "IfIndex" at 4;
    CAPABILITY: InterfaceCapabilities = "Capability" at 8;
    RESERVED: u32 = "Reserved" at 12;
    LINK_SPEED: u64 = "LinkSpeed" at 16;
    FAMILY: AddressFamily = "SockAddr_Storage.Family" at 24;
    BUFFER: [u8; 126] = "SockAddr_Storage.Buffer" at 26;
}

layout! {
    /// Fields of a network interface with an IPv4 address (2.2.32.5.1.1), from its beginning. The address is big-endian.
    pub mod v4: "SOCKADDR_IN", "2.2.32.5.1.1", from 26;
    PORT: [u8; 2] = "Port" at 0;
    ADDRESS: [u8; 4] = "IPv4Address" at 2;
    RESERVED: u64 = "Reserved" at 6;
}

layout! {
    /// Fields of a network interface with an IPv6 address (2.2.32.5.1.2), from its beginning. The address is big-endian.
    pub mod v6: "SOCKADDR_IN6", "2.2.32.5.1.2", from 26;
    PORT: [u8; 2] = "Port" at 0;
    FLOW_INFO: u32 = "FlowInfo" at 2;
    ADDRESS: [u8; 16] = "IPv6Address" at 6;
    SCOPE_ID: u32 = "ScopeId" at 22;
}

/// An address of a network interface (2.2.32.5). An interface with several has one of these for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkInterface {
    /// Which interface it is.
    pub index: u32,
    /// What it can do.
    pub capabilities: InterfaceCapabilities,
    /// Its speed in bits per second.
    pub link_speed: u64,
    /// The address; `None` if it is of another family than IPv4 and IPv6.
    pub address: Option<IpAddr>,
}

/// The addresses of a server's network interfaces.
pub type NetworkInterfaces<'a> = Records<'a, NetworkInterface>;

impl<'a> Record<'a> for NetworkInterface {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        field::LAYOUT.check(bytes)?;
        let rest = match field::NEXT.get(bytes)? {
            0 => None,
            _ => Some(reader::tail(bytes, &field::NEXT, field::LAYOUT.end() as u64)?),
        };
        let address = match field::FAMILY.get(bytes)? {
            AddressFamily::INTER_NETWORK => Some(v4::ADDRESS.get(bytes)?.into()),
            AddressFamily::INTER_NETWORK_V6 => Some(v6::ADDRESS.get(bytes)?.into()),
            _ => None,
        };
        let interface = Self {
            index: field::IF_INDEX.get(bytes)?,
            capabilities: field::CAPABILITY.get(bytes)?,
            link_speed: field::LINK_SPEED.get(bytes)?,
            address,
        };
        Ok((interface, rest))
    }

    fn put(&self, out: &mut Writer<'_>, is_last: bool) -> Result<(), WireError> {
        let mut own = out.nested();
        own.begin(&field::LAYOUT);
        own.set(&field::IF_INDEX, self.index)?;
        own.set(&field::CAPABILITY, self.capabilities)?;
        own.set(&field::LINK_SPEED, self.link_speed)?;
        match self.address {
            Some(IpAddr::V4(address)) => {
                own.set(&field::FAMILY, AddressFamily::INTER_NETWORK)?;
                own.set(&v4::ADDRESS, address.octets())?;
            }
            Some(IpAddr::V6(address)) => {
                own.set(&field::FAMILY, AddressFamily::INTER_NETWORK_V6)?;
                own.set(&v6::ADDRESS, address.octets())?;
            }
            None => {}
        }
        // It ends at a multiple of 8.
        if is_last { Ok(()) } else { own.set_size(&field::NEXT, own.len()) }
    }
}

impl<'a> From<&'a [u8]> for NetworkInterfaces<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Records::linked(bytes)
    }
}

impl NetworkInterfaces<'_> {
    /// The bytes of all of them: the output of the IOCTL.
    ///
    /// # Errors
    /// One that came cannot be read.
    pub fn write(&self, out: &mut alloc::vec::Vec<u8>) -> Result<(), WireError> {
        use super::writer::Part as _;
        self.put(&mut Writer::new(out))
    }
}
