//! The program: its exit status and its two forms of output.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{ROCE, path};

fn program(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-conformance")).args(arguments).arg(file).output().unwrap()
}

/// The RoCE capture with one byte changed, in a file of its own.
struct Changed(PathBuf);

impl Changed {
    fn new(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = std::fs::read(path(ROCE)).unwrap();
        change(&mut bytes);
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, bytes).unwrap();
        Self(file)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn nothing_broken_is_exit_status_0_with_the_ledger() {
    let output = program(&["capture"], &path(ROCE));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("acceptor 10.9.0.1: 254 credits granted (254 negotiating, 0 later)"), "{text}");
    assert!(text.contains("initiator 10.9.0.2: 344 credits granted (0 negotiating, 344 later)"), "{text}");
    assert!(text.contains("0 violations"), "{text}");
}

#[test]
fn a_violation_is_exit_status_1_with_its_frame_in_both_forms() {
    // CreditsRequested, CreditsGranted, Flags, Reserved, RemainingDataLength, DataOffset, DataLength of frame 12.
    let header = [255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 216, 0, 0, 0];
    let file = Changed::new("violation.pcap", |bytes| {
        let place = bytes.windows(header.len()).position(|window| window == header).unwrap();
        bytes[place] = 0;
    });
    let output = program(&["capture"], &file.0);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("frame 12 I>A VIOLATION data-credits-requested-zero"), "{text}");

    let output = program(&["capture", "--json"], &file.0);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| line.parse().unwrap()).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["finding", "ledger", "ledger", "summary"]);
    assert_eq!(lines[0]["rule"], "data-credits-requested-zero");
    assert_eq!(lines[0]["sources"], serde_json::json!(["3.1.5.8-03"]));
    assert_eq!((&lines[0]["frame"], &lines[0]["violation"]), (&12.into(), &true.into()));
    assert_eq!((&lines[3]["violations"], &lines[3]["deviations"]), (&1.into(), &0.into()));
}

#[test]
fn deviations_alone_are_exit_status_0() {
    // Reserved of frame 12.
    let header = [255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 216, 0, 0, 0];
    let file = Changed::new("deviation.pcap", |bytes| {
        let place = bytes.windows(header.len()).position(|window| window == header).unwrap();
        bytes[place + 6] = 1;
    });
    let output = program(&["capture"], &file.0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("frame 12 I>A deviation data-reserved (2.2.3; hardening: NE-12)"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_cannot_be_read_is_exit_status_2_with_the_reason() {
    let nowhere = path("nowhere.pcap");
    let output = program(&["capture"], &nowhere);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.pcap"));

    let file = Changed::new("cut.pcap", |bytes| bytes.truncate(5000));
    let output = program(&["capture"], &file.0);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut.pcap"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("total: 1 SMB Direct connections"));
}

#[test]
fn wrong_usage_is_exit_status_2() {
    for arguments in [&["capture", "--no-such-option"][..], &["no-such-command"]] {
        assert_eq!(program(arguments, &path(ROCE)).status.code(), Some(2), "{arguments:?}");
    }
}
