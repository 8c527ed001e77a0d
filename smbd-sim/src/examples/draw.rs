//! The sequence of messages as text: initiator left, acceptor right.

use std::fmt::Write as _;
use std::time::Duration;

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{BufferDescriptorV1, Instant};

use super::actor::descriptors_in;
use super::record::{Data, Message, Seen, What};
use crate::Side;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const TO_RIGHT: &str = "\x1b[36m";
const TO_LEFT: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

/// Columns between the two lifelines.
const WIDTH: usize = 62;

/// Writes text with terminal colours; whoever prints it strips them where there is no terminal.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) text: String,
    start: Option<Instant>,
}

impl Drawing {
    pub(super) fn title(&mut self, title: &str, start: Instant) {
        self.start = Some(start);
        let (left, right) = ("initiator", "acceptor");
        let _ = write!(
            self.text,
            "\n{BOLD}{title}{PLAIN}\n\n{:>12}   {BOLD}{left:<width$}{right:>9}{PLAIN}\n",
            "time",
            width = WIDTH - 6
        );
    }

    fn time(&self, at: Instant) -> String {
        let since: Duration = at.saturating_since(self.start.unwrap_or(Instant::ORIGIN));
        format!("{}.{:03} us", since.as_nanos() / 1000, since.as_nanos() % 1000)
    }

    fn arrow(&mut self, at: Instant, from: Side, label: &str) {
        let time = self.time(at);
        let dashes = "-".repeat(WIDTH.saturating_sub(label.chars().count() + 7));
        let _ = match from {
            Side::Initiator => {
                writeln!(self.text, "{time:>12}   {TO_RIGHT}|-- {label} {dashes}->|{PLAIN}")
            }
            Side::Acceptor => {
                writeln!(self.text, "{time:>12}   {TO_LEFT}|<- {label} {dashes}--|{PLAIN}")
            }
        };
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:>12}   |   {text:<width$}|", "", width = WIDTH - 4);
    }

    fn note(&mut self, at: Instant, side: Side, text: &str) {
        let time = self.time(at);
        let _ = match side {
            Side::Initiator => {
                writeln!(self.text, "{DIM}{time:>12}   * {text:<width$}|{PLAIN}", width = WIDTH - 2)
            }
            Side::Acceptor => {
                writeln!(self.text, "{DIM}{time:>12}   |{text:>width$} *{PLAIN}", width = WIDTH - 2)
            }
        };
    }

    /// Everything seen. Many messages take two lines of fields each, instead of one for each field.
    pub(super) fn sequence(&mut self, seen: &[Seen]) {
        let data = seen.iter().filter(|s| matches!(s.what, What::Message { message: Message::Data(_), .. }));
        let short = data.count() > 8;
        for s in seen {
            match &s.what {
                What::Message { len, message, reserved } => {
                    self.message(s, message, *len, *reserved, short);
                }
                What::ReadRequest(d) => {
                    self.arrow(s.at, s.side, "RDMA Read Request");
                    self.descriptor(d);
                }
                What::ReadData { len } => {
                    self.arrow(s.at, s.side, &format!("RDMA Read Response, {len} bytes"));
                }
                What::Write { remote } => {
                    self.arrow(s.at, s.side, &format!("RDMA Write, {} bytes", remote.length));
                    self.descriptor(remote);
                }
                What::Note(text) => self.note(s.at, s.side, text),
                What::Waits(text) => self.note(s.at, s.side, text),
            }
        }
    }

    fn message(&mut self, s: &Seen, message: &Message, len: u32, reserved: u16, short: bool) {
        match message {
            Message::Request(m) => {
                self.arrow(s.at, s.side, &format!("Negotiate Request, {len} bytes"));
                self.request(m, reserved);
            }
            Message::Response(m) => {
                self.arrow(s.at, s.side, &format!("Negotiate Response, {len} bytes"));
                self.response(m, reserved);
            }
            Message::Data(data) if short => {
                let h = &data.header;
                self.arrow(s.at, s.side, &format!("Data Transfer, {len} bytes"));
                self.line(&format!(
                    "CreditsRequested {} CreditsGranted {} Flags 0x{:04X}",
                    h.credits_requested, h.credits_granted, h.flags.0
                ));
                self.line(&format!(
                    "RemainingDataLength {} DataOffset {} DataLength {}",
                    h.remaining_data_length, h.data_offset, h.data_length
                ));
            }
            Message::Data(data) => {
                self.arrow(s.at, s.side, &format!("Data Transfer, {len} bytes"));
                self.data(data, reserved);
            }
            Message::Unreadable => self.arrow(s.at, s.side, "a message that cannot be read"),
        }
    }

    fn half(&mut self, name: &str, value: u16) {
        self.line(&format!("{name:<20}0x{value:04X} ({value})"));
    }

    fn word(&mut self, name: &str, value: u32) {
        self.line(&format!("{name:<20}0x{value:08X} ({value})"));
    }

    fn version(&mut self, name: &str, value: u16) {
        self.line(&format!("{name:<20}0x{value:04X}"));
    }

    fn request(&mut self, m: &NegotiateRequest, reserved: u16) {
        self.version("MinVersion", m.min_version);
        self.version("MaxVersion", m.max_version);
        self.version("Reserved", reserved);
        self.half("CreditsRequested", m.credits_requested);
        self.word("PreferredSendSize", m.preferred_send_size);
        self.word("MaxReceiveSize", m.max_receive_size);
        self.word("MaxFragmentedSize", m.max_fragmented_size);
    }

    fn response(&mut self, m: &NegotiateResponse, reserved: u16) {
        self.version("MinVersion", m.min_version);
        self.version("MaxVersion", m.max_version);
        self.version("NegotiatedVersion", m.negotiated_version);
        self.version("Reserved", reserved);
        self.half("CreditsRequested", m.credits_requested);
        self.half("CreditsGranted", m.credits_granted);
        self.line(&format!("{:<20}0x{:08X}", "Status", m.status.0));
        self.word("MaxReadWriteSize", m.max_read_write_size);
        self.word("PreferredSendSize", m.preferred_send_size);
        self.word("MaxReceiveSize", m.max_receive_size);
        self.word("MaxFragmentedSize", m.max_fragmented_size);
    }

    fn data(&mut self, data: &Data, reserved: u16) {
        let h: &DataTransfer = &data.header;
        self.half("CreditsRequested", h.credits_requested);
        self.half("CreditsGranted", h.credits_granted);
        self.version("Flags", h.flags.0);
        self.version("Reserved", reserved);
        self.word("RemainingDataLength", h.remaining_data_length);
        self.word("DataOffset", h.data_offset);
        self.word("DataLength", h.data_length);
        if let Some(padding) = data.padding {
            self.line(&format!("{:<20}0x{:08X}", "Padding", u32::from_le_bytes(padding)));
        }
        if let Some(descriptors) = descriptors_in(&data.payload) {
            self.line(&format!("{:<20}{} bytes of the upper layer, with", "Buffer", data.payload.len()));
            descriptors.iter().for_each(|descriptor| self.descriptor(&descriptor));
        } else if !data.payload.is_empty() {
            self.line(&format!("{:<20}{} bytes of the upper layer", "Buffer", data.payload.len()));
        }
    }

    pub(super) fn descriptor(&mut self, d: &BufferDescriptorV1) {
        self.line(&format!("{:<20}0x{:016X}", "Offset", d.offset));
        self.word("Length", d.length);
        self.line(&format!("{:<20}0x{:08X}", "Token", d.token.0));
    }

    pub(super) fn verdict(&mut self, section: &str, checks: &super::check::Checks) {
        self.text.push('\n');
        for remark in &checks.remarks {
            let _ = writeln!(self.text, "   {remark}");
        }
        for wrong in &checks.wrong {
            let _ = writeln!(self.text, "   {RED}{wrong}{PLAIN}");
        }
        let (colour, word) = if checks.wrong.is_empty() { (GREEN, "passed") } else { (RED, "failed") };
        let _ = writeln!(self.text, "   {colour}{section} {word}{PLAIN}: {} values checked", checks.count);
    }
}
