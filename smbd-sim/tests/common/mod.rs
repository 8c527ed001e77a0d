//! What the tests of decoder and writer share.
#![allow(dead_code, reason = "each test program uses a part")]

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use smbd_sim::capture::{Remote, SendOptions, Side, Transport, Writer};
use smbd_sim::decode::{self, Direction, Item, ItemKind, Message, RdmaKind, RdmaOperation, Report};

/// The captures of real traffic.
pub const CAPTURES: [&str; 2] = ["linux-6.12-roce-default.pcap", "linux-6.12-iwarp-default.pcap"];

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

pub fn read(name: &str) -> Report {
    decode::read(File::open(path(name)).unwrap())
}

pub fn messages(report: &Report) -> Vec<(&Item, &Message)> {
    let items = report.items.iter();
    items
        .filter_map(|item| {
            let ItemKind::Message(message) = &item.kind else { return None };
            Some((item, message))
        })
        .collect()
}

pub fn operations(report: &Report) -> Vec<(Direction, &RdmaOperation)> {
    let items = report.items.iter();
    items
        .filter_map(|item| {
            let ItemKind::Rdma(operation) = &item.kind else { return None };
            Some((item.direction, operation))
        })
        .collect()
}

/// Writes the messages and RDMA operations of a report again. RDMA data is not in a report: its place takes a pattern.
pub fn replay<T: Transport>(report: &Report, mut writer: Writer<Vec<u8>, T>) -> Vec<u8> {
    writer.connect(1_000, &[]).unwrap();
    writer.accept(2_000, &[]).unwrap();
    let mut now = 10_000;
    for item in &report.items {
        now += 1_000;
        let from = match item.direction {
            Direction::ToAcceptor => Side::Initiator,
            Direction::ToInitiator => Side::Acceptor,
        };
        match &item.kind {
            ItemKind::Message(message) => {
                let options = SendOptions { invalidate: message.invalidate, solicited: message.solicited };
                writer.send(now, from, &message.bytes, options).unwrap();
            }
            ItemKind::Rdma(operation) => rdma(&mut writer, now, from, operation),
            ItemKind::Cm(_) | ItemKind::Mpa(_) | ItemKind::Terminate { .. } | ItemKind::Lost { .. } => {
                continue;
            }
        }
        writer.acknowledge(now + 500, from.peer()).unwrap();
    }
    writer.disconnect(now + 1_000, Side::Initiator).unwrap();
    writer.finish().unwrap()
}

fn rdma<T: Transport>(writer: &mut Writer<Vec<u8>, T>, now: u64, from: Side, operation: &RdmaOperation) {
    let remote = Remote { token: operation.token.unwrap(), address: operation.address };
    let data = vec![0xa5; operation.length as usize];
    match operation.kind {
        RdmaKind::Write => writer.write(now, from, remote, &data),
        RdmaKind::ReadRequest => writer.read_request(now, from, remote, operation.length as u32),
        RdmaKind::ReadResponse => writer.read_response(now, from, &data),
    }
    .unwrap();
}

/// What tshark prints. Without tshark the test fails: it would have shown nothing.
pub fn tshark<I: AsRef<OsStr>>(file: &Path, arguments: impl IntoIterator<Item = I>) -> String {
    // The port of SMB Direct on iWARP is registered to another protocol, so its dissector has to come second.
    let output = Command::new("tshark")
        .args(["-o", "tcp.try_heuristic_first:TRUE", "-r"])
        .arg(file)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("tshark cannot be run ({error}): `./test packages` installs it"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file of its own for a test, removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("smbd-sim-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary directory is no failure.
        _ = std::fs::remove_file(&self.0);
    }
}
