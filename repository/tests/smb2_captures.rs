//! Every SMB2 message of the repository's captures: mounts of Linux 6.12 `cifs` at `ksmbd`, over RoCE and iWARP.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use smbd_sim::decode::{Body, Direction, ItemKind, read};
use smbd_smb2::wire::*;

/// The messages of a capture that are whole, with who sent them.
fn messages(name: &str) -> Vec<(Direction, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../smbd-sim/tests/captures");
    let file = File::open(folder.join(name)).expect("it is in the repository");
    let report = read(file);
    let mut open: BTreeMap<(usize, String), Vec<u8>> = BTreeMap::new();
    let mut whole = Vec::new();
    for item in &report.items {
        let ItemKind::Message(message) = &item.kind else { continue };
        let Body::DataTransfer(header) = message.body else { continue };
        let data = message.bytes.get(header.data_offset as usize..).unwrap_or_default();
        if header.data_length == 0 {
            continue;
        }
        let upper = open.entry((item.connection, format!("{:?}", item.direction))).or_default();
        upper.extend(&data[..header.data_length as usize]);
        if header.remaining_data_length == 0 {
            whole.push((item.direction, std::mem::take(upper)));
        }
    }
    whole
}

/// The body read from an element and built again, and whether it is read as the same.
fn rebuilt(element: &Element<'_>) -> (Vec<u8>, bool) {
    let mut again = Vec::new();
    let is_same = if element.header.is_response() {
        let body = Response::parse(element.bytes).expect("sound");
        assert!(!matches!(body, Response::Other(..)));
        write_element(&mut again, &element.header, &body).expect("it came");
        Response::parse(&again) == Ok(body)
    } else {
        let body = Request::parse(element.bytes).expect("sound");
        assert!(!matches!(body, Request::Other(..)));
        write_element(&mut again, &element.header, &body).expect("it came");
        Request::parse(&again) == Ok(body)
    };
    (again, is_same)
}

#[test]
fn every_message_of_a_mount_is_read_and_what_is_built_of_it_is_read_as_the_same() {
    let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for name in ["linux-6.12-roce-default.pcap", "linux-6.12-iwarp-default.pcap"] {
        for (direction, message) in messages(name) {
            let Ok(Message::Smb2(elements)) = Message::parse(&message) else { panic!("{direction:?}") };
            for element in elements {
                let element = element.expect("sound");
                let (again, is_same) = rebuilt(&element);
                let kind = if element.header.is_response() { "response" } else { "request" };
                let name = format!("{} {kind}", element.header.command);
                assert!(is_same, "{name}");
                let count = counts.entry(name).or_default();
                count.0 += 1;
                count.1 += u32::from(again == element.bytes);
            }
        }
    }
    let lines: Vec<_> = counts
        .iter()
        .map(|(name, (all, same))| format!("{name}: {all}, {same} of them byte for byte"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
