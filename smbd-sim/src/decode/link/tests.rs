use super::*;
use crate::capture::Host;
use crate::capture::format::net::{TcpHeader, roce_frame, tcp_frame};

fn host(last: u8, ipv6: bool) -> Host {
    let address: IpAddr = if ipv6 {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
    } else {
        Ipv4Addr::new(10, 0, 0, last).into()
    };
    Host { mac: [2, 0, 0, 0, 0, last], address }
}

/// A RoCE frame; its Ethernet header is the first 14 bytes.
fn roce(ipv6: bool) -> Vec<u8> {
    roce_frame(&host(1, ipv6), &host(2, ipv6), 0xc001, &[0x5a; 16]).unwrap()
}

fn frame(link: LinkType, data: Vec<u8>) -> Frame {
    Frame { number: 1, time_ns: 0, link, original_len: data.len() as u32, data }
}

fn udp_of(frame: &Frame) -> (SocketAddr, usize, usize) {
    let Content::Udp(udp) = content(frame) else { panic!("{frame:?}") };
    (udp.source, udp.payload.len(), udp.missing)
}

fn with_link_header(link: LinkType, header: &[u8], ipv6: bool) -> Frame {
    let mut data = header.to_vec();
    data.extend_from_slice(&roce(ipv6)[14..]);
    frame(link, data)
}

#[test]
fn every_link_type_leads_to_the_same_datagram() {
    for ipv6 in [false, true] {
        let [high, low] = if ipv6 { [0x86, 0xdd] } else { [8, 0] };
        let mut sll = [0; 16];
        sll[14..].copy_from_slice(&[high, low]);
        let mut sll2 = [0; 20];
        sll2[..2].copy_from_slice(&[high, low]);
        let vlan = [&[0; 12][..], &[0x81, 0, 0, 5, high, low]].concat();
        let double = [&[0; 12][..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, high, low]].concat();
        let frames = [
            frame(LinkType::Ethernet, roce(ipv6)),
            with_link_header(LinkType::Ethernet, &vlan, ipv6),
            with_link_header(LinkType::Ethernet, &double, ipv6),
            with_link_header(LinkType::LinuxSll, &sll, ipv6),
            with_link_header(LinkType::LinuxSll2, &sll2, ipv6),
            with_link_header(LinkType::RawIp, &[], ipv6),
        ];
        let expected = (SocketAddr::new(host(1, ipv6).address, 0xc001), 20, 0);
        for frame in &frames {
            assert_eq!(udp_of(frame), expected, "{frame:?}");
        }
    }
}

#[test]
fn ipv6_extension_headers_are_stepped_over() {
    let mut data = roce(true)[14..].to_vec();
    let payload = data.split_off(40);
    data[6] = 0;
    data[4..6].copy_from_slice(&(payload.len() as u16 + 8).to_be_bytes());
    data.extend_from_slice(&[17, 0, 1, 4, 0, 0, 0, 0]);
    data.extend_from_slice(&payload);
    assert_eq!(udp_of(&frame(LinkType::RawIp, data)).1, 20);
}

#[test]
fn bytes_that_the_capture_cut_off_are_counted_and_padding_behind_ip_is_not_payload() {
    let mut whole = frame(LinkType::Ethernet, roce(false));
    whole.data.extend_from_slice(&[0; 9]);
    assert_eq!(udp_of(&whole).1, 20);
    whole.data.truncate(14 + 20 + 8 + 5);
    let (_, captured, missing) = udp_of(&whole);
    assert_eq!((captured, missing), (5, 15));
}

#[test]
fn fragments_and_other_protocols_are_foreign() {
    let mut fragment = roce(false);
    fragment[20] = 0x20;
    assert_eq!(content(&frame(LinkType::Ethernet, fragment)), Content::Foreign);
    let mut icmp = roce(false);
    icmp[23] = 1;
    assert_eq!(content(&frame(LinkType::Ethernet, icmp)), Content::Foreign);
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    assert_eq!(content(&frame(LinkType::Ethernet, arp)), Content::Foreign);
    assert_eq!(content(&frame(LinkType::Other(147), roce(false))), Content::UnknownLink(147));
}

#[test]
fn every_cut_of_the_headers_is_broken_and_no_panic() {
    let header = TcpHeader { source: 1, dest: 2, sequence: 3, acknowledgement: 4, flags: 0x10 };
    for ipv6 in [false, true] {
        let tcp = tcp_frame(&host(1, ipv6), &host(2, ipv6), &header, b"").unwrap();
        for data in [roce(ipv6)[..14 + if ipv6 { 40 } else { 20 } + 8].to_vec(), tcp] {
            for len in 0..data.len() {
                assert_eq!(
                    content(&frame(LinkType::Ethernet, data[..len].to_vec())),
                    Content::Broken,
                    "{len}"
                );
            }
        }
    }
}

#[test]
fn tcp_lengths_and_flags_are_those_of_the_header() {
    let header = TcpHeader { source: 10, dest: 20, sequence: 30, acknowledgement: 0, flags: 0x03 };
    let data = tcp_frame(&host(1, false), &host(2, false), &header, b"payload").unwrap();
    let frame = frame(LinkType::Ethernet, data);
    let Content::Tcp(tcp) = content(&frame) else { panic!() };
    assert_eq!((tcp.source.port(), tcp.dest.port(), tcp.sequence), (10, 20, 30));
    assert_eq!((tcp.syn, tcp.fin, tcp.rst, tcp.payload), (true, true, false, b"payload".as_slice()));
}
