//! Captures with packets cut, repeated, out of order and missing.

mod common;

use common::{CAPTURES, messages, path, read};
use proptest::prelude::*;
use smbd_sim::capture::Host;
use smbd_sim::capture::format::net::{TcpHeader, tcp_frame};
use smbd_sim::decode::file::{Frame, FrameReader};
use smbd_sim::decode::{
    Body, Decoder, Direction, Identified, ItemKind, Message, Options, RdmaKind, Report, Roles,
};
use std::fs::File;

fn frames(name: &str) -> Vec<Frame> {
    let mut reader = FrameReader::new(File::open(path(name)).unwrap()).unwrap();
    std::iter::from_fn(|| reader.next_frame().unwrap()).collect()
}

fn decode<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Report {
    let mut decoder = Decoder::new(Options::default());
    frames.into_iter().for_each(|frame| decoder.frame(frame));
    decoder.finish(None)
}

/// What must not change: the messages of each direction, and the RDMA bytes of each kind.
fn essence(report: &Report) -> ([Vec<Message>; 2], [u64; 3]) {
    let of = |direction| {
        let messages = messages(report).into_iter().filter(|(item, _)| item.direction == direction);
        messages.map(|(_, message)| message.clone()).collect()
    };
    let mut bytes = [0; 3];
    for item in &report.items {
        if let ItemKind::Rdma(operation) = &item.kind {
            let at = match operation.kind {
                RdmaKind::ReadRequest => 0,
                RdmaKind::ReadResponse => 1,
                RdmaKind::Write => 2,
            };
            bytes[at] += if at == 0 { operation.length } else { operation.bytes };
            assert!(operation.complete, "{operation:?}");
        }
    }
    ([of(Direction::ToAcceptor), of(Direction::ToInitiator)], bytes)
}

/// Bytes of the TCP payload of an IPv4 frame, and where it begins.
fn tcp_payload(frame: &Frame) -> (TcpHeader, Vec<u8>) {
    let ip = &frame.data[14..];
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let tcp = &ip[20..total];
    let header = TcpHeader {
        source: u16::from_be_bytes([tcp[0], tcp[1]]),
        dest: u16::from_be_bytes([tcp[2], tcp[3]]),
        sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        acknowledgement: 0,
        flags: tcp[13],
    };
    (header, tcp[usize::from(tcp[12] >> 4) * 4..].to_vec())
}

/// The same TCP streams cut at other places: a piece of each segment for each element of `cuts`, in turn.
fn cut_again(frames: &[Frame], cuts: &[usize]) -> Vec<Frame> {
    let mut cuts = cuts.iter().cycle();
    let mut out = Vec::new();
    for frame in frames {
        let (header, payload) = tcp_payload(frame);
        let host = |at: usize| Host {
            mac: [2; 6],
            address: <[u8; 4]>::try_from(&frame.data[14 + at..14 + at + 4]).unwrap().into(),
        };
        let mut rest = payload.as_slice();
        let mut sequence = header.sequence;
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            let data = tcp_frame(&host(12), &host(16), &TcpHeader { sequence, ..header }, piece).unwrap();
            out.push(Frame { original_len: data.len() as u32, data, ..frame.clone() });
            sequence = sequence.wrapping_add(piece.len() as u32);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn repeated_and_swapped_packets_change_no_message(
        roce in any::<bool>(),
        choices in prop::collection::vec(0_u8..8, 97),
    ) {
        let name = CAPTURES[usize::from(!roce)];
        let original = frames(name);
        // The set-up stays as it is: a connection's first packet has to be known as such.
        let (setup, rest) = original.split_at(9);
        let mut disordered = setup.to_vec();
        let mut repeated = 0;
        for (pair, choice) in rest.chunks(2).zip(choices.iter().cycle()) {
            match (pair, choice) {
                ([one, two], 0) => disordered.extend([two.clone(), one.clone()]),
                ([one, two], 1) => {
                    disordered.extend([one.clone(), two.clone(), one.clone()]);
                    repeated += 1;
                }
                _ => disordered.extend_from_slice(pair),
            }
        }
        let report = decode(&disordered);
        let (before, after) = (essence(&read(name)), essence(&report));
        // Swapping two requests of a direction across the other direction's answers changes no direction's order.
        prop_assert_eq!(before, after);
        let counters = report.summary.counters;
        prop_assert!(counters.retransmissions <= repeated + 2, "acknowledgements repeat too, but count apart");
        prop_assert_eq!(counters.not_understood, 0);
    }

    #[test]
    fn where_tcp_cuts_its_segments_changes_no_message(cuts in prop::collection::vec(1_usize..1500, 1..50)) {
        let name = CAPTURES[1];
        let report = decode(&cut_again(&frames(name), &cuts));
        prop_assert_eq!(essence(&read(name)), essence(&report));
    }

    #[test]
    fn a_capture_that_begins_in_the_middle_gives_the_messages_that_are_whole(
        roce in any::<bool>(),
        skipped in 9_usize..200,
    ) {
        let name = CAPTURES[usize::from(!roce)];
        let all = frames(name);
        let report = decode(&all[skipped..]);
        let whole = read(name);
        let wanted = messages(&whole).into_iter().filter(|(item, _)| item.frames.first as usize > skipped);
        let wanted: Vec<_> = wanted.map(|(item, message)| (item.frames, item.direction, &message.body)).collect();
        // A repetition whose first copy is not in the capture counts as the message itself.
        let got = messages(&report).into_iter().filter(|(item, _)| roce || ![74, 171].contains(&item.frames.first));
        let got: Vec<_> = got.map(|(item, message)| (item.frames, item.direction, &message.body)).collect();
        prop_assert_eq!(wanted, got);
        let connection = &report.connections[0];
        prop_assert!(!connection.from_start);
        prop_assert_eq!(connection.roles, Roles::FromContent);
        prop_assert_eq!(report.connections.len(), 1);
        prop_assert!(messages(&report).iter().all(|(_, m)| m.identified == Identified::ByShape
            || matches!(m.body, Body::DataTransfer(_))));
    }
}

#[test]
fn a_missing_packet_is_reported_and_the_messages_around_it_are_found() {
    for (name, dropped) in CAPTURES.into_iter().zip([104_u64, 95]) {
        let all = frames(name);
        let report = decode(all.iter().filter(|frame| frame.number != dropped));
        let lost: Vec<_> =
            report.items.iter().filter(|item| matches!(item.kind, ItemKind::Lost { .. })).collect();
        assert_eq!(lost.len(), 1, "{name}: {lost:?}");
        let (whole, partial) = (read(name), report);
        let missing = messages(&whole).len() - messages(&partial).len();
        assert!(missing <= 1, "{name}: {missing} messages are missing for one frame");
    }
}

#[test]
fn a_capture_cut_to_the_headers_still_gives_every_field() {
    for name in CAPTURES {
        let mut cut = frames(name);
        for frame in &mut cut {
            frame.data.truncate(14 + 20 + 8 + 12 + 24 + 48);
        }
        let report = decode(&cut);
        let bodies = |report: &Report| messages(report).iter().map(|(_, m)| m.body).collect::<Vec<_>>();
        assert_eq!(bodies(&report), bodies(&read(name)), "{name}");
        assert!(report.summary.counters.cut_frames > 100);
    }
}
