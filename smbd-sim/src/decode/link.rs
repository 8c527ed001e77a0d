//! Finds the UDP datagram or TCP segment in a frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use pnet::packet::ethernet::{EtherType, EtherTypes, EthernetPacket};
use pnet::packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet::packet::ipv4::Ipv4Packet;
use pnet::packet::ipv6::Ipv6Packet;
use pnet::packet::tcp::{TcpFlags, TcpPacket};
use pnet::packet::udp::UdpPacket;
use pnet::packet::vlan::VlanPacket;

use super::file::{Frame, LinkType};

const SLL_HEADER: usize = 16;
const SLL2_HEADER: usize = 20;
/// VLAN tags in one frame.
const TAGS_MAX: usize = 4;
/// IPv6 extension headers in one packet.
const EXTENSIONS_MAX: usize = 8;

/// What is in a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Udp(Udp<'a>),
    Tcp(Tcp<'a>),
    /// Whole and of no interest.
    Foreign,
    /// A header is cut or contradicts itself.
    Broken,
    /// Of this link type, which cannot be read.
    UnknownLink(u32),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Udp<'a> {
    pub(super) source: SocketAddr,
    pub(super) dest: SocketAddr,
    pub(super) payload: &'a [u8],
    /// Payload bytes the capture cut off.
    pub(super) missing: usize,
    /// The IP packet, for the invariant CRC.
    pub(super) ip_packet: &'a [u8],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tcp<'a> {
    pub(super) source: SocketAddr,
    pub(super) dest: SocketAddr,
    pub(super) sequence: u32,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) payload: &'a [u8],
    pub(super) missing: usize,
}

struct Ip<'a> {
    source: IpAddr,
    dest: IpAddr,
    protocol: IpNextHeaderProtocol,
    packet: &'a [u8],
    payload: &'a [u8],
    missing: usize,
}

/// Finds the datagram or segment of a frame.
pub(super) fn content(frame: &Frame) -> Content<'_> {
    if let LinkType::Other(number) = frame.link {
        return Content::UnknownLink(number);
    }
    let Some((ether_type, payload)) = network(frame) else { return Content::Broken };
    let ip = match ether_type {
        Some(EtherTypes::Ipv4) => ipv4(payload),
        Some(EtherTypes::Ipv6) => ipv6(payload),
        _ => return Content::Foreign,
    };
    match ip {
        Err(content) => content,
        Ok(ip) if ip.protocol == IpNextHeaderProtocols::Udp => udp(&ip),
        Ok(ip) if ip.protocol == IpNextHeaderProtocols::Tcp => tcp(&ip),
        Ok(_) => Content::Foreign,
    }
}

/// The network protocol and its packet; `None` when a link header is cut.
fn network(frame: &Frame) -> Option<(Option<EtherType>, &[u8])> {
    let data = frame.data.as_slice();
    let ether_type = |at: usize| Some(EtherType(u16::from_be_bytes(*data.get(at..)?.first_chunk()?)));
    match frame.link {
        LinkType::Ethernet => {
            let packet = EthernetPacket::new(data)?;
            untagged(packet.get_ethertype(), data.get(EthernetPacket::minimum_packet_size()..)?)
        }
        LinkType::LinuxSll => untagged(ether_type(14)?, data.get(SLL_HEADER..)?),
        LinkType::LinuxSll2 => untagged(ether_type(0)?, data.get(SLL2_HEADER..)?),
        LinkType::RawIp => match data.first()? >> 4 {
            4 => Some((Some(EtherTypes::Ipv4), data)),
            6 => Some((Some(EtherTypes::Ipv6), data)),
            _ => Some((None, data)),
        },
        LinkType::Other(_) => Some((None, data)),
    }
}

fn untagged(mut ether_type: EtherType, mut payload: &[u8]) -> Option<(Option<EtherType>, &[u8])> {
    for _ in 0..TAGS_MAX {
        if !matches!(ether_type, EtherTypes::Vlan | EtherTypes::PBridge | EtherTypes::QinQ) {
            break;
        }
        ether_type = VlanPacket::new(payload)?.get_ethertype();
        payload = payload.get(VlanPacket::minimum_packet_size()..)?;
    }
    Some((Some(ether_type), payload))
}

/// `len` bytes of `bytes`, or all of them and how many are missing.
fn clip(bytes: &[u8], len: usize) -> (&[u8], usize) {
    match bytes.get(..len) {
        Some(whole) => (whole, 0),
        None => (bytes, len - bytes.len()),
    }
}

fn ipv4(data: &[u8]) -> Result<Ip<'_>, Content<'_>> {
    let packet = Ipv4Packet::new(data).ok_or(Content::Broken)?;
    let header_len = usize::from(packet.get_header_length()) * 4;
    // Offloading hardware hands packets to the capture whose length is not filled in.
    let total = match usize::from(packet.get_total_length()) {
        0 => data.len(),
        total => total,
    };
    if header_len < Ipv4Packet::minimum_packet_size() || total < header_len || data.len() < header_len {
        return Err(Content::Broken);
    }
    // Don't-fragment aside, any fragment bit or offset means that this is not a whole packet.
    if packet.get_fragment_offset() != 0 || packet.get_flags() & 1 != 0 {
        return Err(Content::Foreign);
    }
    let (whole, missing) = clip(data, total);
    Ok(Ip {
        source: Ipv4Addr::from(packet.get_source().octets()).into(),
        dest: Ipv4Addr::from(packet.get_destination().octets()).into(),
        protocol: packet.get_next_level_protocol(),
        packet: whole,
        payload: &whole[header_len..],
        missing,
    })
}

fn ipv6(data: &[u8]) -> Result<Ip<'_>, Content<'_>> {
    let packet = Ipv6Packet::new(data).ok_or(Content::Broken)?;
    let header_len = Ipv6Packet::minimum_packet_size();
    let total = match usize::from(packet.get_payload_length()) {
        0 => data.len(),
        len => header_len + len,
    };
    let (whole, missing) = clip(data, total);
    let mut payload = whole.get(header_len..).ok_or(Content::Broken)?;
    let mut protocol = packet.get_next_header();
    for _ in 0..EXTENSIONS_MAX {
        if !matches!(
            protocol,
            IpNextHeaderProtocols::Hopopt
                | IpNextHeaderProtocols::Ipv6Route
                | IpNextHeaderProtocols::Ipv6Opts
        ) {
            break;
        }
        let [next, units, ..] = payload else { return Err(Content::Broken) };
        protocol = IpNextHeaderProtocol(*next);
        payload = payload.get((usize::from(*units) + 1) * 8..).ok_or(Content::Broken)?;
    }
    Ok(Ip {
        source: Ipv6Addr::from(packet.get_source().octets()).into(),
        dest: Ipv6Addr::from(packet.get_destination().octets()).into(),
        protocol,
        packet: whole,
        payload,
        missing,
    })
}

fn udp<'a>(ip: &Ip<'a>) -> Content<'a> {
    let Some(packet) = UdpPacket::new(ip.payload) else { return Content::Broken };
    let header_len = UdpPacket::minimum_packet_size();
    let len = usize::from(packet.get_length());
    if len < header_len || len > ip.payload.len() + ip.missing {
        return Content::Broken;
    }
    let (whole, missing) = clip(ip.payload, len);
    Content::Udp(Udp {
        source: SocketAddr::new(ip.source, packet.get_source()),
        dest: SocketAddr::new(ip.dest, packet.get_destination()),
        payload: &whole[header_len..],
        missing,
        ip_packet: ip.packet,
    })
}

fn tcp<'a>(ip: &Ip<'a>) -> Content<'a> {
    let Some(packet) = TcpPacket::new(ip.payload) else { return Content::Broken };
    let header_len = usize::from(packet.get_data_offset()) * 4;
    if header_len < TcpPacket::minimum_packet_size() {
        return Content::Broken;
    }
    let Some(payload) = ip.payload.get(header_len..) else { return Content::Broken };
    let flag = |bit| packet.get_flags() & bit != 0;
    Content::Tcp(Tcp {
        source: SocketAddr::new(ip.source, packet.get_source()),
        dest: SocketAddr::new(ip.dest, packet.get_destination()),
        sequence: packet.get_sequence(),
        syn: flag(TcpFlags::SYN),
        fin: flag(TcpFlags::FIN),
        rst: flag(TcpFlags::RST),
        payload,
        missing: ip.missing,
    })
}

#[cfg(test)]
mod tests;
