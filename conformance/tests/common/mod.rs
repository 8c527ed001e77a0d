//! A recorded conversation that tests change.
#![allow(dead_code, reason = "each test program uses a part")]

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;

use smbd_conformance::monitor::{self, Verdict};
use smbd_core::Token;
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse};
use smbd_sim::decode::{self, Body, Direction, Item, ItemKind, Message, RdmaOperation, Report};

/// The captures of real traffic.
pub const ROCE: &str = "linux-6.12-roce-default.pcap";
pub const IWARP: &str = "linux-6.12-iwarp-default.pcap";

/// Frames of the RoCE capture: the negotiation, the initiator's first message (which only grants), its first with
/// payload and the answer, a message in three fragments with what comes before it, the last message of each side, and the
/// end.
pub const REQUEST: u64 = 6;
pub const RESPONSE: u64 = 8;
pub const GRANT: u64 = 10;
pub const CLIENT_DATA: u64 = 12;
pub const SERVER_DATA: u64 = 14;
pub const BEFORE_FRAGMENTS: u64 = 78;
pub const FRAGMENTS: [u64; 3] = [80, 81, 83];
pub const RDMA_WRITE: u64 = 273;
pub const CLIENT_LAST: u64 = 881;
pub const SERVER_LAST: u64 = 883;
pub const DISCONNECT: u64 = 885;

/// The frame of the first message that a test adds; the next are in the frames behind it.
pub const ADDED: u64 = 9001;

pub const SECOND: u64 = 1_000_000_000;

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../smbd-sim/tests/captures").join(name)
}

pub fn read(name: &str) -> Report {
    decode::read(File::open(path(name)).unwrap())
}

/// What the RoCE capture holds, to be changed.
#[derive(Debug)]
pub struct Tape {
    report: Report,
    added: u64,
}

impl Tape {
    pub fn new() -> Self {
        Self { report: read(ROCE), added: 0 }
    }

    fn index(&self, frame: u64) -> usize {
        self.report.items.iter().position(|item| item.frames.first == frame).unwrap()
    }

    /// The frames of all messages.
    pub fn frames(&self) -> Vec<u64> {
        let items = self.report.items.iter();
        items.filter(|item| matches!(item.kind, ItemKind::Message(_))).map(|item| item.frames.first).collect()
    }

    /// Who sent what begins in a frame.
    pub fn direction(&self, frame: u64) -> Direction {
        self.report.items[self.index(frame)].direction
    }

    fn message(&mut self, frame: u64) -> &mut Message {
        let index = self.index(frame);
        match &mut self.report.items[index].kind {
            ItemKind::Message(message) => message,
            other => panic!("frame {frame} is {other:?}"),
        }
    }

    /// Changes the bytes of a message.
    pub fn edit(&mut self, frame: u64, change: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        let message = self.message(frame);
        change(&mut message.bytes);
        message.len = message.bytes.len() as u64;
        let bytes = &message.bytes;
        let parsed = match message.body {
            Body::NegotiateRequest(_) => NegotiateRequest::parse(bytes).map(Body::NegotiateRequest),
            Body::NegotiateResponse(_) => NegotiateResponse::parse(bytes).map(Body::NegotiateResponse),
            Body::DataTransfer(_) | Body::Malformed(_) => DataTransfer::parse(bytes).map(Body::DataTransfer),
        };
        message.body = parsed.unwrap_or_else(Body::Malformed);
        self
    }

    pub fn set16(&mut self, frame: u64, field: Range<usize>, value: u16) -> &mut Self {
        self.edit(frame, |bytes| bytes[field].copy_from_slice(&value.to_le_bytes()))
    }

    pub fn set32(&mut self, frame: u64, field: Range<usize>, value: u32) -> &mut Self {
        self.edit(frame, |bytes| bytes[field].copy_from_slice(&value.to_le_bytes()))
    }

    pub fn resize(&mut self, frame: u64, len: usize) -> &mut Self {
        self.edit(frame, |bytes| bytes.resize(len, 0))
    }

    pub fn refuse(&mut self, response: &NegotiateResponse) -> &mut Self {
        self.edit(RESPONSE, |bytes| _ = response.encode(bytes).unwrap());
        self.end_after(RESPONSE)
    }

    pub fn invalidate(&mut self, frame: u64, token: u32) -> &mut Self {
        self.message(frame).invalidate = Some(Token(token));
        self
    }

    pub fn operation(&mut self, frame: u64, change: impl FnOnce(&mut RdmaOperation)) -> &mut Self {
        let index = self.index(frame);
        match &mut self.report.items[index].kind {
            ItemKind::Rdma(operation) => change(operation),
            other => panic!("frame {frame} is {other:?}"),
        }
        self
    }

    /// Drops all messages and operations behind a message.
    pub fn end_after(&mut self, frame: u64) -> &mut Self {
        let last = self.index(frame);
        let mut index = 0;
        self.report.items.retain(|item| {
            index += 1;
            index <= last + 1 || matches!(item.kind, ItemKind::Cm(_))
        });
        self
    }

    /// Puts the message behind the item of another frame.
    pub fn move_behind(&mut self, frame: u64, behind: u64) -> &mut Self {
        let item = self.report.items.remove(self.index(frame));
        let place = self.index(behind) + 1;
        self.report.items.insert(place, item);
        self
    }

    /// Everything from this frame on happens later.
    pub fn delay(&mut self, frame: u64, by_ns: u64) -> &mut Self {
        let first = self.index(frame);
        for item in &mut self.report.items[first..] {
            item.frames.first_ns += by_ns;
            item.frames.last_ns += by_ns;
        }
        self
    }

    /// Adds a data message behind the item of a frame, with that one's time.
    pub fn add(&mut self, behind: u64, direction: Direction, bytes: Vec<u8>) -> &mut Self {
        let place = self.index(behind);
        let mut item: Item = self.report.items[place].clone();
        let mut message = self.message(RESPONSE).clone();
        message.body = DataTransfer::parse(&bytes).map_or_else(Body::Malformed, Body::DataTransfer);
        message.len = bytes.len() as u64;
        message.bytes = bytes;
        item.frames.first = ADDED + self.added;
        item.direction = direction;
        item.kind = ItemKind::Message(message);
        self.added += 1;
        self.report.items.insert(place + 1, item);
        self
    }

    /// A packet is in the capture twice.
    pub fn retransmitted(&mut self) {
        self.report.summary.counters.retransmissions = 1;
    }

    /// The frame of the item before that of `frame`.
    pub fn frame_before(&self, frame: u64) -> u64 {
        self.report.items[self.index(frame) - 1].frames.first
    }

    pub fn bytes(&mut self, frame: u64) -> Vec<u8> {
        self.message(frame).bytes.clone()
    }

    /// What the monitor says.
    pub fn check(&mut self) -> Verdict {
        let mut sent = std::collections::BTreeMap::new();
        for item in &mut self.report.items {
            if let ItemKind::Message(message) = &mut item.kind {
                let ordinal: &mut u64 = sent.entry((item.connection, item.direction.name())).or_default();
                *ordinal += 1;
                message.ordinal = *ordinal;
            }
        }
        monitor::check(&self.report)
    }
}

/// A message without payload.
pub fn empty(credits_granted: u16, flags: Flags) -> Vec<u8> {
    let header = DataTransfer { credits_requested: 255, credits_granted, flags, ..DataTransfer::default() };
    encoded(&header)
}

pub fn encoded(header: &DataTransfer) -> Vec<u8> {
    let mut bytes = vec![0; header.encoded_len()];
    header.encode(&mut bytes).unwrap();
    bytes
}
