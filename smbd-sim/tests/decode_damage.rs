//! Files that are cut, altered or of another kind: never a panic, always what could be read, and a clear reason.

mod common;

use std::process::{Command, Output};

use common::{CAPTURES, Scratch, path};
use proptest::prelude::*;
use smbd_core::wire::Token;
use smbd_sim::capture::{IwarpWriter, Link, Remote, RoceWriter, SendOptions, Side, Transport, Writer};
use smbd_sim::decode::file::{FileError, FrameReader};
use smbd_sim::decode::{self, Report, json, text};

/// A connection with an operation of each kind.
fn script<T: Transport>(mut writer: Writer<Vec<u8>, T>) -> Vec<u8> {
    let remote = Remote { token: Token(0x1234), address: 0x5000 };
    let invalidate = SendOptions { invalidate: Some(Token(7)), solicited: true };
    writer.connect(1, &[1, 2, 3]).unwrap();
    writer.accept(2, &[4, 5]).unwrap();
    writer
        .send(
            3,
            Side::Initiator,
            &[0, 1, 0, 1, 0, 0, 10, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 2, 0],
            SendOptions::default(),
        )
        .unwrap();
    writer.send(4, Side::Acceptor, &[0; 32], SendOptions::default()).unwrap();
    writer.send(5, Side::Initiator, &[7; 1364], SendOptions::default()).unwrap();
    writer.write(6, Side::Acceptor, remote, &[8; 600]).unwrap();
    writer.read_request(7, Side::Acceptor, remote, 700).unwrap();
    writer.read_response(8, Side::Initiator, &[9; 700]).unwrap();
    writer.send(9, Side::Acceptor, &[0; 24], invalidate).unwrap();
    writer.acknowledge(10, Side::Initiator).unwrap();
    writer.disconnect(11, Side::Initiator).unwrap();
    writer.finish().unwrap()
}

fn small_captures() -> [Vec<u8>; 2] {
    [
        script(RoceWriter::roce(Vec::new(), Link { mtu: 256, ..Link::roce() }).unwrap()),
        script(IwarpWriter::iwarp(Vec::new(), Link { mtu: 536, ..Link::iwarp() }).unwrap()),
    ]
}

/// Decodes and renders, so that the renderers meet what the decoder makes of damage.
fn survive(bytes: &[u8]) -> Report {
    let report = decode::read(bytes);
    let text = text::report(&report).to_string();
    assert!(text.lines().count() >= report.items.len());
    let mut lines = Vec::new();
    json::write(&report, &mut lines).unwrap();
    assert!(lines.len() > report.items.len());
    report
}

#[test]
fn every_truncation_gives_a_reason_and_never_more_than_the_whole_file() {
    for capture in small_captures() {
        let whole = survive(&capture);
        assert!(whole.problem.is_none());
        let mut readable_ends = 0;
        for len in 0..capture.len() {
            let report = survive(&capture[..len]);
            assert!(report.summary.messages() <= whole.summary.messages());
            readable_ends += u64::from(report.problem.is_none());
        }
        // Only behind a block does a file end well: the headers and each frame but the last.
        assert_eq!(readable_ends, whole.summary.counters.frames + 1);
    }
}

#[test]
fn every_truncation_of_a_real_capture_at_a_record_boundary_or_inside_one_is_told_apart() {
    let bytes = std::fs::read(path(CAPTURES[1])).unwrap();
    let report = decode::read(&bytes[..bytes.len() - 1]);
    let problem = report.problem.unwrap();
    assert!(matches!(problem, FileError::Truncated { record: 249, needed: 66, got: 65, .. }), "{problem}");
    assert_eq!(report.summary.counters.frames, 248);
    let text = problem.to_string();
    assert_eq!(
        text,
        format!("record 249 at offset {} is cut: the frame needs 66 bytes, 65 are there", bytes.len() - 66)
    );
}

proptest! {
    #[test]
    fn altered_bytes_never_panic(
        iwarp in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = small_captures()[usize::from(iwarp)].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        survive(&bytes);
    }

    #[test]
    fn altered_frames_in_a_whole_file_never_panic(
        iwarp in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..24),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let capture = &small_captures()[usize::from(iwarp)];
        let mut reader = FrameReader::new(capture.as_slice()).unwrap();
        let mut frames: Vec<_> = std::iter::from_fn(|| reader.next_frame().unwrap()).collect();
        for (frame, at, value) in changes {
            let count = frames.len();
            let data = &mut frames[frame.index(count)].data;
            let at = at.index(data.len());
            data[at] ^= value;
        }
        if let Some(cut) = cut {
            let count = frames.len();
            let data = &mut frames[cut.index(count)].data;
            data.truncate(cut.index(data.len()));
        }
        let mut decoder = decode::Decoder::new(decode::Options::default());
        frames.iter().for_each(|frame| decoder.frame(frame));
        let report = decoder.finish(None);
        prop_assert!(!text::report(&report).to_string().is_empty());
    }

    #[test]
    fn any_bytes_behind_a_file_header_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), classic in any::<bool>()) {
        let mut file = if classic {
            vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]
        } else {
            small_captures()[0][..64].to_vec()
        };
        file.extend(bytes);
        survive(&file);
    }
}

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-sim")).arg("decode").args(arguments).output().unwrap()
}

#[test]
fn the_program_ends_with_2_and_says_where_a_file_breaks_after_printing_what_it_read() {
    let bytes = std::fs::read(path(CAPTURES[1])).unwrap();
    let file = Scratch::new("cut.pcap", &bytes[..4000]);
    let output = program(&[file.0.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains("Negotiate Response") && out.contains("total: "), "{out}");
    assert!(
        error.contains("record 25 at offset 3828 is cut: the frame needs 194 bytes, 172 are there"),
        "{error}"
    );

    let foreign = Scratch::new("foreign", b"#!/bin/sh\n");
    let output = program(&[foreign.0.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("not a capture file"));

    let output = program(&["/nonexistent/capture"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
}

#[test]
fn the_program_prints_a_whole_file_as_text_and_as_json_lines_and_ends_with_0() {
    let file = path(CAPTURES[0]);
    let file = file.to_str().unwrap();
    let output = program(&[file]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("total: 170 messages, 886 frames"));

    let output = program(&[file, "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((of("connection"), of("message"), of("rdma"), of("cm"), of("summary")), (2, 170, 7, 7, 1));
    assert_eq!(lines.last().unwrap()["to_initiator"]["credits_granted"], 254);
}

#[test]
fn frames_of_a_link_type_that_cannot_be_read_are_counted_apart_with_its_number() {
    let mut bytes = std::fs::read(path(CAPTURES[0])).unwrap();
    bytes[20] = 147;
    let report = survive(&bytes);
    let counters = report.summary.counters;
    assert_eq!((counters.frames, counters.foreign_frames), (886, 0));
    assert_eq!((counters.unknown_link_frames, counters.unknown_link_type), (886, Some(147)));
    let text = text::report(&report).to_string();
    assert!(text.contains("not understood: 886 frames of link type 147"), "{text}");
}
