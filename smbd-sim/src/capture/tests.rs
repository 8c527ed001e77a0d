use std::net::Ipv6Addr;

use smbd_core::wire::Token;

use super::*;
use crate::decode::{self, ItemKind, Report};

fn ipv6(link: Link) -> Link {
    let host =
        |host: Host, last| Host { address: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into(), ..host };
    Link { initiator: host(link.initiator, 1), acceptor: host(link.acceptor, 2), ..link }
}

fn script<T: Transport>(mut writer: Writer<Vec<u8>, T>) -> Report {
    let options = SendOptions { invalidate: Some(Token(0xabcd)), solicited: true };
    writer.connect(0, b"private").unwrap();
    writer.accept(1, &[]).unwrap();
    writer.send(2, Side::Initiator, &[1; 20], SendOptions::default()).unwrap();
    writer.send(3, Side::Acceptor, &[2; 32], options).unwrap();
    writer.send(4, Side::Initiator, &[0; 10_000], options).unwrap();
    writer.fault(5, Side::Acceptor, Fault::NoReceive).unwrap();
    decode::read(writer.finish().unwrap().as_slice())
}

fn reports() -> [Report; 4] {
    [
        script(RoceWriter::roce(Vec::new(), Link::roce()).unwrap()),
        script(RoceWriter::roce(Vec::new(), ipv6(Link::roce())).unwrap()),
        script(IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap()),
        script(IwarpWriter::iwarp(Vec::new(), ipv6(Link::iwarp())).unwrap()),
    ]
}

#[test]
fn invalidation_and_solicited_events_are_on_the_message_over_both_ip_versions() {
    for report in reports() {
        let mut seen = Vec::new();
        for item in &report.items {
            if let ItemKind::Message(message) = &item.kind {
                seen.push((message.len, message.invalidate, message.solicited));
            }
        }
        let token = Some(Token(0xabcd));
        assert_eq!(seen, [(20, None, false), (32, token, true), (10_000, token, true)]);
        let counters = &report.summary.counters;
        assert_eq!((counters.bad_checksums, counters.not_understood, counters.broken_frames), (0, 0, 0));
    }
}

#[test]
fn a_missing_receive_is_a_negative_acknowledgement_or_a_terminate() {
    let [roce, _, iwarp, _] = reports();
    assert_eq!(roce.summary.counters.receiver_not_ready, 1);
    let last = &iwarp.items.last().unwrap().kind;
    assert_eq!(*last, ItemKind::Terminate { control: 0x1202 });
}

#[test]
fn a_rejected_connection_has_no_messages() {
    let mut roce = RoceWriter::roce(Vec::new(), Link::roce()).unwrap();
    roce.connect(0, &[]).unwrap();
    roce.reject(1, b"no").unwrap();
    let report = decode::read(roce.finish().unwrap().as_slice());
    let ItemKind::Cm(event) = &report.items[1].kind else { panic!("{:?}", report.items) };
    assert_eq!(
        (event.name, event.reason, event.private_data.as_slice()),
        ("REJ", Some(28), b"no".as_slice())
    );

    let mut iwarp = IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap();
    iwarp.connect(0, &[]).unwrap();
    iwarp.reject(1, b"no").unwrap();
    let report = decode::read(iwarp.finish().unwrap().as_slice());
    let ItemKind::Mpa(event) = &report.items[1].kind else { panic!("{:?}", report.items) };
    assert!(event.rejected && event.private_data == b"no" && !report.connections[0].smb_direct);
}

#[test]
fn connections_with_the_same_hosts_stay_apart_by_their_instance() {
    let mut file = PcapNg::new(Vec::new()).unwrap();
    let mut builders = [0, 1, 2].map(|instance| Roce::new(Link { instance, ..Link::roce() }));
    let mut put = |frames: Frames| frames.iter().for_each(|frame| file.frame(0, frame).unwrap());
    builders.iter_mut().for_each(|roce| put(roce.connect(&[])));
    builders.iter_mut().for_each(|roce| put(roce.accept(&[])));
    for round in 0..4 {
        builders
            .iter_mut()
            .for_each(|roce| put(roce.send(Side::Initiator, &[round; 20], SendOptions::default())));
    }
    let report = decode::read(file.finish().unwrap().as_slice());
    assert_eq!(report.connections.len(), 3);
    for number in 1..=3 {
        let of = report.items.iter().filter(|item| item.connection == number);
        assert_eq!(of.filter(|item| matches!(item.kind, ItemKind::Message(_))).count(), 4);
    }
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let mut mixed = Link::roce();
    mixed.acceptor.address = Ipv6Addr::LOCALHOST.into();
    let mut writer = RoceWriter::roce(Vec::new(), mixed).unwrap();
    assert_eq!(writer.connect(0, &[]).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    let mut writer = IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap();
    let error = writer.read_response(0, Side::Acceptor, b"unasked").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn another_protocol_on_rdma_is_counted_and_not_shown() {
    let mut writer = RoceWriter::roce(Vec::new(), Link { port: 4420, ..Link::roce() }).unwrap();
    let remote = Remote { token: Token(1), address: 0 };
    writer.connect(0, &[]).unwrap();
    writer.accept(1, &[]).unwrap();
    writer.send(2, Side::Initiator, &[0x41; 64], SendOptions::default()).unwrap();
    writer.write(3, Side::Acceptor, remote, &[0; 4096]).unwrap();
    let report = decode::read(writer.finish().unwrap().as_slice());
    assert!(!report.connections[0].smb_direct);
    assert!(report.items.iter().all(|item| matches!(item.kind, ItemKind::Cm(_))));
    let counters = &report.summary.counters;
    assert_eq!((counters.foreign_messages, counters.foreign_operations), (1, 1));
}

#[test]
fn a_flood_of_queue_pairs_and_tcp_connections_is_bounded_in_memory_and_time() {
    use super::format::net::{TcpHeader, roce_frame, tcp_frame};
    use crate::decode::file::{Frame, LinkType};
    let Link { initiator, acceptor, .. } = Link::roce();
    let mut decoder = decode::Decoder::new(decode::Options::default());
    let mut number = 0;
    let mut take = |data: Vec<u8>| {
        number += 1;
        let original_len = data.len() as u32;
        decoder.frame(&Frame { number, time_ns: number, link: LinkType::Ethernet, original_len, data });
    };
    for index in 0..70_000_u32 {
        // An acknowledgement to a queue pair that was never seen.
        let [_, high, middle, low] = index.to_be_bytes();
        let transport = [0x11, 0, 0xff, 0xff, 0, high, middle, low, 0, 0, 0, 0, 0x1f, 0, 0, 0];
        take(roce_frame(&initiator, &acceptor, 0xc000, &transport).unwrap());
        let [source, dest] = [(index >> 8) as u16, (index & 0xff) as u16];
        let header = TcpHeader { source, dest, sequence: index, acknowledgement: 0, flags: 2 };
        take(tcp_frame(&initiator, &acceptor, &header, &[]).unwrap());
    }
    let report = decoder.finish(None);
    assert!(report.connections.len() <= 65_536);
    assert_eq!(report.summary.counters.not_understood, 70_000 - 65_536);
}
