//! Ethernet frames with IPv4 or IPv6, and UDP or TCP.

use std::net::IpAddr;

use pnet::packet::Packet;
use pnet::packet::ethernet::{EtherTypes, EthernetPacket, MutableEthernetPacket};
use pnet::packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::ipv6::{Ipv6Packet, MutableIpv6Packet};
use pnet::packet::tcp::{self, MutableTcpPacket, TcpPacket};
use pnet::packet::udp::{self, MutableUdpPacket, UdpPacket};
use pnet::util::MacAddr;
use pnet::util::core_net::{Ipv4Addr, Ipv6Addr};

use super::bth::{ICRC_LEN, UDP_PORT};
use super::icrc::icrc;

const ETHERNET_LEN: usize = EthernetPacket::minimum_packet_size();
const IPV4_LEN: usize = Ipv4Packet::minimum_packet_size();
const IPV6_LEN: usize = Ipv6Packet::minimum_packet_size();
const UDP_LEN: usize = UdpPacket::minimum_packet_size();
const TCP_LEN: usize = TcpPacket::minimum_packet_size();
const TTL: u8 = 64;

/// A host on the imagined link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// Ethernet address.
    pub mac: [u8; 6],
    /// IP address; both hosts of a frame have the same version.
    pub address: IpAddr,
}

impl Host {
    /// The address as a GID of RoCEv2: IPv4 addresses mapped into IPv6.
    #[must_use]
    pub fn gid(&self) -> [u8; 16] {
        match self.address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        }
    }

    /// Bytes of the IP header of its packets.
    #[must_use]
    pub const fn ip_header_len(&self) -> usize {
        match self.address {
            IpAddr::V4(_) => IPV4_LEN,
            IpAddr::V6(_) => IPV6_LEN,
        }
    }
}

/// Fields of a TCP header that vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub dest: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Flags as in [`pnet::packet::tcp::TcpFlags`].
    pub flags: u8,
}

/// An Ethernet frame with room for `len` bytes behind the IP header; `None` when that is too long for IP.
fn ip_frame(from: &Host, to: &Host, protocol: IpNextHeaderProtocol, len: usize) -> Option<Vec<u8>> {
    let ip_len = from.ip_header_len();
    let mut frame = vec![0; ETHERNET_LEN + ip_len + len];
    let mut ethernet = MutableEthernetPacket::new(&mut frame)?;
    ethernet.set_source(MacAddr::from(from.mac));
    ethernet.set_destination(MacAddr::from(to.mac));
    ethernet.set_ethertype(if from.address.is_ipv4() { EtherTypes::Ipv4 } else { EtherTypes::Ipv6 });
    let total = u16::try_from(ip_len + len).ok()?;
    match (from.address, to.address) {
        (IpAddr::V4(source), IpAddr::V4(dest)) => {
            let mut ip = MutableIpv4Packet::new(&mut frame[ETHERNET_LEN..])?;
            ip.set_version(4);
            ip.set_header_length(5);
            ip.set_total_length(total);
            ip.set_flags(ipv4::Ipv4Flags::DontFragment);
            ip.set_ttl(TTL);
            ip.set_next_level_protocol(protocol);
            ip.set_source(Ipv4Addr::from(source.octets()));
            ip.set_destination(Ipv4Addr::from(dest.octets()));
            let checksum = ipv4::checksum(&ip.to_immutable());
            ip.set_checksum(checksum);
        }
        (IpAddr::V6(source), IpAddr::V6(dest)) => {
            let mut ip = MutableIpv6Packet::new(&mut frame[ETHERNET_LEN..])?;
            ip.set_version(6);
            ip.set_payload_length(u16::try_from(len).ok()?);
            ip.set_next_header(protocol);
            ip.set_hop_limit(TTL);
            ip.set_source(Ipv6Addr::from(source.octets()));
            ip.set_destination(Ipv6Addr::from(dest.octets()));
        }
        _ => return None,
    }
    Some(frame)
}

/// A RoCEv2 frame around transport headers and payload (a multiple of four bytes), with its ICRC.
/// `None` when the hosts' IP versions differ or the packet is too long for IP.
#[must_use]
pub fn roce_frame(from: &Host, to: &Host, source_port: u16, transport: &[u8]) -> Option<Vec<u8>> {
    let len = UDP_LEN + transport.len() + ICRC_LEN;
    let mut frame = ip_frame(from, to, IpNextHeaderProtocols::Udp, len)?;
    let ip_len = from.ip_header_len();
    let end = frame.len() - ICRC_LEN;
    let mut datagram = MutableUdpPacket::new(&mut frame[ETHERNET_LEN + ip_len..])?;
    datagram.set_source(source_port);
    datagram.set_destination(UDP_PORT);
    datagram.set_length(u16::try_from(len).ok()?);
    frame[end - transport.len()..end].copy_from_slice(transport);
    let sum = icrc(&frame[ETHERNET_LEN..end])?;
    frame[end..].copy_from_slice(&sum.to_le_bytes());
    // Over IPv4 RoCE leaves the UDP checksum out; IPv6 knows no zero checksum.
    if let (IpAddr::V6(source), IpAddr::V6(dest)) = (from.address, to.address) {
        let mut datagram = MutableUdpPacket::new(&mut frame[ETHERNET_LEN + ip_len..])?;
        let [source, dest] = [source, dest].map(|address| Ipv6Addr::from(address.octets()));
        let checksum = udp::ipv6_checksum(&datagram.to_immutable(), &source, &dest);
        datagram.set_checksum(checksum);
    }
    Some(frame)
}

/// A TCP frame. `None` when the hosts' IP versions differ or the payload is too long for IP.
#[must_use]
pub fn tcp_frame(from: &Host, to: &Host, header: &TcpHeader, payload: &[u8]) -> Option<Vec<u8>> {
    let mut frame = ip_frame(from, to, IpNextHeaderProtocols::Tcp, TCP_LEN + payload.len())?;
    let at = ETHERNET_LEN + from.ip_header_len();
    let mut segment = MutableTcpPacket::new(&mut frame[at..])?;
    segment.set_source(header.source);
    segment.set_destination(header.dest);
    segment.set_sequence(header.sequence);
    segment.set_acknowledgement(header.acknowledgement);
    segment.set_data_offset(5);
    segment.set_flags(header.flags);
    segment.set_window(u16::MAX);
    segment.set_payload(payload);
    let checksum = match (from.address, to.address) {
        (IpAddr::V4(source), IpAddr::V4(dest)) => {
            let [source, dest] = [source, dest].map(|address| Ipv4Addr::from(address.octets()));
            tcp::ipv4_checksum(&segment.to_immutable(), &source, &dest)
        }
        (IpAddr::V6(source), IpAddr::V6(dest)) => {
            let [source, dest] = [source, dest].map(|address| Ipv6Addr::from(address.octets()));
            tcp::ipv6_checksum(&segment.to_immutable(), &source, &dest)
        }
        _ => return None,
    };
    segment.set_checksum(checksum);
    debug_assert_eq!(segment.packet().len(), TCP_LEN + payload.len());
    Some(frame)
}
