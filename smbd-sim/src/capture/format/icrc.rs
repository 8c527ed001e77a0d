//! Invariant CRC of a RoCEv2 packet: CRC-32 over the packet, with ones in the fields that routers change.

use super::bth::{Bth, ICRC_LEN};

const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;
const UDP_LEN: usize = 8;

/// The CRC of an IP packet from its first byte to the byte before the ICRC; it is stored little-endian.
/// `None` for anything but IPv4 without options or IPv6 without extension headers, over UDP with a whole BTH.
#[must_use]
pub fn icrc(ip_packet: &[u8]) -> Option<u32> {
    let version = ip_packet.first()? >> 4;
    let ip_len = match version {
        4 if ip_packet[0] & 0xf == 5 => IPV4_LEN,
        6 => IPV6_LEN,
        _ => return None,
    };
    let headers_len = ip_len + UDP_LEN + Bth::LEN;
    let mut headers = [0xff_u8; 8 + IPV6_LEN + UDP_LEN + Bth::LEN];
    let masked = headers.get_mut(8..8 + headers_len)?;
    masked.copy_from_slice(ip_packet.get(..headers_len)?);
    if version == 4 {
        masked[1] = 0xff;
        masked[8] = 0xff;
        masked[10..12].fill(0xff);
    } else {
        masked[0] |= 0x0f;
        masked[1..4].fill(0xff);
        masked[7] = 0xff;
    }
    masked[ip_len + 6..ip_len + 8].fill(0xff);
    masked[ip_len + UDP_LEN + 4] = 0xff;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&headers[..8 + headers_len]);
    hasher.update(&ip_packet[headers_len..]);
    Some(hasher.finalize())
}

/// Whether the last four bytes of an IP packet are its ICRC; `None` where it cannot be computed.
#[must_use]
pub fn check(ip_packet: &[u8]) -> Option<bool> {
    let (body, stored) = ip_packet.split_last_chunk::<ICRC_LEN>()?;
    Some(icrc(body)? == u32::from_le_bytes(*stored))
}
