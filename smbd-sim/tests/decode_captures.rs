//! The captures of the Linux client and server, read whole.

mod common;

use common::{CAPTURES, messages, operations, read};
use smbd_sim::decode::{Body, Direction, Identified, RdmaKind, Roles};

#[test]
fn every_message_of_both_kernels_over_roce_is_found() {
    let report = read("linux-6.12-roce-default.pcap");
    assert!(report.problem.is_none());
    let [client, server] = [&report.summary.to_acceptor, &report.summary.to_initiator];
    assert_eq!((client.negotiate_requests, client.negotiate_responses, client.data_transfers), (1, 0, 78));
    assert_eq!((server.negotiate_requests, server.negotiate_responses, server.data_transfers), (0, 1, 90));
    assert_eq!((client.credits_granted, server.credits_granted), (344, 254));
    let counters = &report.summary.counters;
    assert_eq!((counters.frames, counters.acknowledgements), (886, 175));
    assert_eq!((counters.not_understood, counters.bad_checksums, counters.retransmissions), (0, 0, 0));

    let [refused, used] = report.connections.as_slice() else { panic!("{:?}", report.connections) };
    assert!(!refused.smb_direct, "port 5445, rejected");
    assert_eq!((used.initiator.address.to_string().as_str(), used.acceptor.port), ("10.9.0.2", Some(445)));
    assert_eq!((used.initiator.qpn, used.acceptor.qpn, used.roles), (Some(0x12), Some(0x11), Roles::Seen));
}

#[test]
fn rdma_operations_over_roce_are_one_line_each_with_all_their_bytes() {
    let report = read("linux-6.12-roce-default.pcap");
    let operations = operations(&report);
    let of = |kind| operations.iter().filter(move |(_, operation)| operation.kind == kind);
    assert_eq!(of(RdmaKind::Write).map(|(_, o)| o.bytes).collect::<Vec<_>>(), [131_072, 131_072, 37_856]);
    assert_eq!(of(RdmaKind::ReadRequest).map(|(_, o)| o.length).collect::<Vec<_>>(), [131_072, 68_928]);
    assert_eq!(of(RdmaKind::ReadResponse).map(|(_, o)| o.bytes).collect::<Vec<_>>(), [131_072, 68_928]);
    assert!(operations.iter().all(|(_, operation)| operation.complete));
    for (direction, operation) in &operations {
        let by_client = operation.kind == RdmaKind::ReadResponse;
        assert_eq!(*direction == Direction::ToAcceptor, by_client, "{operation:?}");
    }
}

#[test]
fn every_message_of_both_kernels_over_iwarp_is_found_and_retransmissions_count_once() {
    let report = read("linux-6.12-iwarp-default.pcap");
    assert!(report.problem.is_none());
    let [client, server] = [&report.summary.to_acceptor, &report.summary.to_initiator];
    assert_eq!((client.messages(), server.messages()), (72, 52));
    assert_eq!((client.credits_granted, server.credits_granted), (305, 254));
    assert_eq!((server.writes, server.write_bytes), (2, 24_000));
    assert_eq!((server.read_requests, client.read_responses, client.read_bytes), (1, 1, 16_000));
    // Frames 74 and 171, as tshark's tcp.analysis.retransmission has it.
    assert_eq!(report.summary.counters.retransmissions, 2);
    assert_eq!(report.summary.counters.not_understood, 0);
}

#[test]
fn fragments_of_a_message_add_up_to_its_length() {
    for name in CAPTURES {
        let report = read(name);
        let mut sequences = 0;
        for direction in [Direction::ToAcceptor, Direction::ToInitiator] {
            let mut expected = (1, 0);
            for (item, message) in
                messages(&report).into_iter().filter(|(item, _)| item.direction == direction)
            {
                assert_eq!(message.identified, Identified::ByPlace);
                assert_eq!(message.remarks, [""; 0], "{item:?}");
                let (Some(fragment), Body::DataTransfer(header)) = (message.fragment, &message.body) else {
                    continue;
                };
                assert_eq!((fragment.index, fragment.offset), expected);
                assert_eq!(message.upper.is_some(), fragment.index == 1);
                expected = (fragment.index + 1, fragment.offset + u64::from(header.data_length));
                if fragment.last {
                    assert_eq!(expected.1, fragment.total);
                    sequences += 1;
                    expected = (1, 0);
                }
            }
            assert_eq!(expected, (1, 0), "no sequence is left open");
        }
        assert!(sequences > 10, "{sequences}");
    }
}

#[test]
fn the_first_commands_are_named() {
    let report = read("linux-6.12-iwarp-default.pcap");
    let names: Vec<_> = messages(&report).iter().filter_map(|(_, m)| m.upper.clone()).take(4).collect();
    let expected =
        ["NEGOTIATE request", "NEGOTIATE response", "SESSION_SETUP request", "SESSION_SETUP response"];
    assert_eq!(names, expected.map(|name| format!("SMB2 {name}")));
}
