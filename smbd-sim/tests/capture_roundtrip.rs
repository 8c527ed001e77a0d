//! Real traffic written again by the capture writer, and read back.

mod common;

use std::net::Ipv6Addr;

use common::{CAPTURES, Scratch, messages, operations, read, replay, tshark};
use smbd_core::wire::Token;
use smbd_sim::capture::{
    self, Fault, Frames, Host, Iwarp, IwarpWriter, Link, PcapNg, Remote, Roce, RoceWriter, SendOptions, Side,
};
use smbd_sim::decode::{self, Report, Transport};

/// Each capture written again over each transport.
fn rewritten() -> Vec<(String, Report, Vec<u8>)> {
    let mut files = Vec::new();
    for name in CAPTURES {
        let report = read(name);
        let roce = RoceWriter::roce(Vec::new(), Link::roce()).unwrap();
        let small = RoceWriter::roce(Vec::new(), Link { mtu: 256, ..Link::roce() }).unwrap();
        let iwarp = IwarpWriter::iwarp(Vec::new(), Link::iwarp()).unwrap();
        files.push((format!("roce-{name}.pcapng"), read(name), replay(&report, roce)));
        files.push((format!("small-{name}.pcapng"), read(name), replay(&report, small)));
        files.push((format!("iwarp-{name}.pcapng"), read(name), replay(&report, iwarp)));
    }
    files
}

#[test]
fn our_decoder_reads_the_same_messages_and_operations_from_the_writers_output() {
    for (name, original, bytes) in rewritten() {
        let again = decode::read(bytes.as_slice());
        assert!(again.problem.is_none(), "{name}");
        let [connection] = again.connections.as_slice() else { panic!("{name}: {:?}", again.connections) };
        assert_eq!(connection.transport == Transport::Iwarp, name.starts_with("iwarp"));
        assert!(connection.from_start);
        let counters = &again.summary.counters;
        let unexpected = [
            counters.bad_checksums,
            counters.not_understood,
            counters.retransmissions,
            counters.broken_frames,
            counters.negative_acknowledgements,
        ];
        assert_eq!(unexpected, [0; 5], "{name}");
        let [before, after] = [&original, &again].map(messages);
        assert_eq!(before.len(), after.len(), "{name}");
        for ((was, message), (is, same)) in before.into_iter().zip(after) {
            assert_eq!(was.direction, is.direction);
            assert_eq!(message, same, "{name}");
        }
        assert_eq!(operations(&original), operations(&again), "{name}");
    }
}

#[test]
fn tshark_decodes_the_writers_output_down_to_smb2_with_nothing_malformed() {
    for (name, original, bytes) in rewritten() {
        if name.starts_with("small") {
            // Wireshark takes the last packet of a message that spans several for a malformed message of its own.
            continue;
        }
        let file = Scratch::new(&name, &bytes);
        let count = |filter: &str| {
            tshark(&file.0, ["-Y", filter, "-T", "fields", "-e", "frame.number"]).lines().count()
        };
        // Wireshark objects to the SPNEGO token of ksmbd's SMB2 NEGOTIATE response, in the original capture too.
        assert_eq!(count("_ws.malformed && !spnego"), 0, "{name}");
        assert_eq!(count("smb_direct"), messages(&original).len(), "{name}");
        let upper = messages(&original).iter().filter(|(_, message)| message.upper.is_some()).count();
        assert_eq!(count("smb2"), upper, "{name}");
    }
}

/// What the real captures do not have: IPv6, solicited events, refusals, the faults, several packets on a small path.
fn rare<T: Clone + capture::Transport>(transport: T) -> Vec<u8> {
    let mut file = PcapNg::new(Vec::new()).unwrap();
    let mut put = |frames: Frames| {
        assert!(!frames.is_empty());
        frames.iter().for_each(|frame| file.frame(1, frame).unwrap());
    };
    for fault in [Fault::NoReceive, Fault::TooLong, Fault::Access] {
        let mut connection = transport.clone();
        let options = SendOptions { invalidate: Some(Token(5)), solicited: true };
        let remote = Remote { token: Token(6), address: 0xffff_0000_0000_1000 };
        put(connection.connect(b"private"));
        put(connection.accept(b"data"));
        put(connection.send(Side::Initiator, &[1; 21], options));
        put(connection.write(Side::Acceptor, remote, &[2; 9001]));
        put(connection.read_request(Side::Acceptor, remote, 4097));
        put(connection.read_response(Side::Initiator, &[3; 4097]));
        put(connection.fault(Side::Acceptor, fault));
        put(connection.disconnect(Side::Acceptor));
    }
    let mut refused = transport.clone();
    put(refused.connect(&[]));
    put(refused.reject(b"no"));
    file.finish().unwrap()
}

#[test]
fn tshark_finds_nothing_malformed_in_rare_events_either() {
    let ipv6 = |link: Link| {
        let host =
            |host: Host, last| Host { address: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into(), ..host };
        Link { initiator: host(link.initiator, 1), acceptor: host(link.acceptor, 2), ..link }
    };
    let files = [
        rare(Roce::new(Link::roce())),
        rare(Roce::new(ipv6(Link::roce()))),
        rare(Iwarp::new(Link::iwarp())),
        rare(Iwarp::new(ipv6(Link::iwarp()))),
    ];
    for (index, bytes) in files.iter().enumerate() {
        let file = Scratch::new(&format!("rare-{index}.pcapng"), bytes);
        let bad = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || tcp.checksum.status == 0";
        let checks = ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"];
        let arguments = checks.iter().flat_map(|check| ["-o", *check]).chain(["-Y", bad]);
        assert_eq!(tshark(&file.0, arguments), "");
        let report = decode::read(bytes.as_slice());
        assert_eq!(report.summary.counters.bad_checksums, 0);
    }
}
