//! Every field of every SMB Direct message as tshark reads it, against our decoder.

mod common;

use std::collections::BTreeMap;

use common::{CAPTURES, messages, path, read, tshark};
use smbd_core::wire::Flags;
use smbd_sim::decode::{Body, Item, Message, Transport};

const FIELDS: [&str; 15] = [
    "version.min",
    "version.max",
    "version.negotiated",
    "credits.requested",
    "credits.granted",
    "status",
    "max_read_write_size",
    "preferred_send_size",
    "max_receive_size",
    "max_fragmented_size",
    "flags",
    "flags.response_requested",
    "remaining_length",
    "data_offset",
    "data_length",
];

/// Values in the order of [`FIELDS`]; `None` where the type has no such field.
fn values(body: &Body) -> [Option<u64>; 15] {
    let mut values = [None; 15];
    let mut set = |name: &str, value: u64| {
        let at = FIELDS.iter().position(|field| *field == name).unwrap();
        values[at] = Some(value);
    };
    match body {
        Body::NegotiateRequest(m) => {
            set("version.min", m.min_version.into());
            set("version.max", m.max_version.into());
            set("credits.requested", m.credits_requested.into());
            set("preferred_send_size", m.preferred_send_size.into());
            set("max_receive_size", m.max_receive_size.into());
            set("max_fragmented_size", m.max_fragmented_size.into());
        }
        Body::NegotiateResponse(m) => {
            set("version.min", m.min_version.into());
            set("version.max", m.max_version.into());
            set("version.negotiated", m.negotiated_version.into());
            set("credits.requested", m.credits_requested.into());
            set("credits.granted", m.credits_granted.into());
            set("status", m.status.0.into());
            set("max_read_write_size", m.max_read_write_size.into());
            set("preferred_send_size", m.preferred_send_size.into());
            set("max_receive_size", m.max_receive_size.into());
            set("max_fragmented_size", m.max_fragmented_size.into());
        }
        Body::DataTransfer(m) => {
            set("credits.requested", m.credits_requested.into());
            set("credits.granted", m.credits_granted.into());
            set("flags", m.flags.0.into());
            set("flags.response_requested", m.flags.contains(Flags::RESPONSE_REQUESTED).into());
            set("remaining_length", m.remaining_data_length.into());
            set("data_offset", m.data_offset.into());
            set("data_length", m.data_length.into());
        }
        Body::Malformed(error) => panic!("{error}"),
    }
    values
}

fn number(text: &str) -> u64 {
    match text {
        "True" => 1,
        "False" => 0,
        _ => {
            text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).unwrap()
        }
    }
}

type Frame = [Vec<u64>; 15];

fn by_frame<'a>(
    messages: impl IntoIterator<Item = (&'a Item, &'a Message)>,
    transport: Transport,
) -> BTreeMap<u64, Frame> {
    let mut frames = BTreeMap::<u64, Frame>::new();
    for (item, message) in messages {
        // tshark reads the first packet of a RoCE message, but an FPDU once its last segment is there.
        let frame = if transport == Transport::RoceV2 { item.frames.first } else { item.frames.last };
        for (values, value) in frames.entry(frame).or_default().iter_mut().zip(values(&message.body)) {
            values.extend(value);
        }
    }
    frames
}

#[test]
fn every_field_that_tshark_prints_has_the_same_value() {
    for name in CAPTURES {
        let fields = FIELDS.iter().flat_map(|field| ["-e".to_owned(), format!("smb_direct.{field}")]);
        let arguments = ["-Y", "smb_direct", "-T", "fields", "-e", "frame.number"].map(str::to_owned);
        let output = tshark(&path(name), arguments.into_iter().chain(fields));
        let mut theirs = BTreeMap::<u64, Frame>::new();
        for line in output.lines() {
            let mut columns = line.split('\t');
            let frame = columns.next().unwrap().parse().unwrap();
            let values =
                columns.map(|column| column.split(',').filter(|v| !v.is_empty()).map(number).collect());
            theirs.insert(frame, values.collect::<Vec<_>>().try_into().unwrap());
        }
        let report = read(name);
        let transport = report.connections[0].transport;
        let ours = by_frame(messages(&report), transport);
        assert_eq!(theirs.len(), ours.len(), "{name}: frames with SMB Direct");
        for (frame, values) in &theirs {
            for ((field, theirs), ours) in FIELDS.iter().zip(values).zip(&ours[frame]) {
                assert_eq!(theirs, ours, "{name} frame {frame} smb_direct.{field}");
            }
        }
    }
}
