//! Real traffic written again by the capture writer, and read back.

mod common;

use common::{CAPTURES, Scratch, messages, operations, read, replay, tshark};
use smbd_sim::capture::{IwarpWriter, Link, RoceWriter};
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
            Some(tshark(&file.0, ["-Y", filter, "-T", "fields", "-e", "frame.number"])?.lines().count())
        };
        // Wireshark objects to the SPNEGO token of ksmbd's SMB2 NEGOTIATE response, in the original capture too.
        let Some(malformed) = count("_ws.malformed && !spnego") else { return };
        assert_eq!(malformed, 0, "{name}");
        assert_eq!(count("smb_direct").unwrap(), messages(&original).len(), "{name}");
        let upper = messages(&original).iter().filter(|(_, message)| message.upper.is_some()).count();
        assert_eq!(count("smb2").unwrap(), upper, "{name}");
    }
}
