//! The events of a play, in order: for `show`, for reports, and to find causes.

use std::collections::VecDeque;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use smbd_core::Instant;
use smbd_core::wire::{Layout, data_transfer, negotiate_request, negotiate_response};

/// Bytes of a message that are kept.
const BYTES_KEPT: usize = 96;
/// Bytes that are shown of a message which is not kept whole.
const BYTES_SHOWN: usize = 32;
/// Events kept from the beginning, and again from the end.
const EVENTS_KEPT: usize = 400;

/// Who did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The scripted side.
    Script,
    /// The implementation under test.
    Subject,
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Script => "script",
            Self::Subject => "subject",
        })
    }
}

/// Which message it should be, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// 2.2.1.
    NegotiateRequest,
    /// 2.2.2.
    NegotiateResponse,
    /// 2.2.3.
    DataTransfer,
}

impl Kind {
    pub(super) fn layout(self) -> &'static Layout {
        match self {
            Self::NegotiateRequest => &negotiate_request::LAYOUT,
            Self::NegotiateResponse => &negotiate_response::LAYOUT,
            Self::DataTransfer => &data_transfer::LAYOUT,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NegotiateRequest => "Negotiate Request",
            Self::NegotiateResponse => "Negotiate Response",
            Self::DataTransfer => "Data Transfer",
        })
    }
}

/// A message as it was recorded: its first bytes, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which message it should be.
    pub kind: Kind,
    /// Length of the whole message in bytes.
    pub len: usize,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Token of the receiver that it invalidates.
    pub invalidates: Option<u32>,
}

impl Packet {
    /// A record of `message`.
    #[must_use]
    pub fn of(kind: Kind, message: &[u8], invalidates: Option<u32>) -> Self {
        let kept = message.len().min(BYTES_KEPT);
        Self { kind, len: message.len(), bytes: message[..kept].to_vec(), invalidates }
    }

    /// Names and values of the fields that are there in full.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let fields = self.kind.layout().fields();
        fields.filter_map(|field| Some((field.name, number(self.bytes.get(field.range.clone())?))))
    }

    /// The bytes kept, two digits each.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.bytes)
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes:", self.kind, self.len)?;
        for (name, value) in self.fields() {
            write!(f, " {name} {}", shown(name, value))?;
        }
        match self.invalidates {
            Some(token) => write!(f, ", invalidates 0x{token:08x}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Packet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &self.kind)?;
        map.serialize_entry("length", &self.len)?;
        map.serialize_entry("bytes", &self.hex())?;
        map.serialize_entry("invalidates", &self.invalidates)?;
        map.serialize_entry("fields", &Fields(self))?;
        map.end()
    }
}

struct Fields<'a>(&'a Packet);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.fields())
    }
}

/// The value of a field: versions, flags and status as the bits they are, and so what is near the end of its range.
#[must_use]
pub fn shown(name: &str, value: u64) -> String {
    match name {
        "MinVersion" | "MaxVersion" | "NegotiatedVersion" | "Flags" => format!("0x{value:04X}"),
        "Status" => format!("0x{value:08X}"),
        "Reserved" if value > 0 => format!("0x{value:04X}"),
        _ if value >= BITS_FROM => format!("0x{value:08X}"),
        _ => value.to_string(),
    }
}

/// From here on a number of 32 bits says more by its bits.
const BITS_FROM: u64 = 0x8000_0000;

/// Bytes as two digits each, with spaces between.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    digits.join(" ")
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// The transport connection is asked for, or waited for.
    Opening,
    /// It is up.
    Connected,
    /// It did not come up.
    ConnectFailed {
        /// Why.
        reason: String,
    },
    /// A message left or came.
    Message(Packet),
    /// The script posted receives.
    Receives {
        /// How many.
        count: u32,
        /// Bytes of each.
        len: u32,
    },
    /// A buffer of the script was registered, or is no longer.
    Memory {
        /// What was done.
        text: String,
    },
    /// An RDMA operation. The subject's are seen only where its device is looked at.
    Rdma {
        /// What was done.
        text: String,
    },
    /// A piece of the script's work failed.
    WorkFailed {
        /// Which, and why.
        text: String,
    },
    /// Something the subject's upper layer was told or did, where that is looked at.
    Upper {
        /// What.
        text: String,
    },
    /// The script or the subject ends the transport connection.
    Disconnect,
    /// The script was told that it is down.
    Disconnected,
    /// A check failed here.
    Finding {
        /// Its number, from 0.
        index: usize,
    },
    /// The case says where it is.
    Step {
        /// In its words.
        text: String,
    },
}

/// Something that happened, when, where, and by whom. The alternate form (`{:#}`) has the bytes of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Nanoseconds from the beginning of the play.
    pub at: u64,
    /// On which connection, from 0.
    pub connection: usize,
    /// Who did it.
    pub by: By,
    /// What it was.
    #[serde(flatten)]
    pub what: What,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.at / 1000;
        write!(
            f,
            "{:>4}.{:06}  #{} {:<7}  ",
            micros / 1_000_000,
            micros % 1_000_000,
            self.connection,
            self.by
        )?;
        match &self.what {
            What::Opening => f.write_str("opens the transport connection"),
            What::Connected => f.write_str("transport connection is up"),
            What::ConnectFailed { reason } => write!(f, "transport connection failed: {reason}"),
            What::Message(packet) if f.alternate() => {
                let long = packet.len > packet.bytes.len();
                let shown = packet.bytes.get(..BYTES_SHOWN).filter(|_| long).unwrap_or(&packet.bytes);
                let more = if packet.len > shown.len() { " ..." } else { "" };
                write!(f, "{packet}\n{:29}{}{more}", "", hex(shown))
            }
            What::Message(packet) => write!(f, "{packet}"),
            What::Receives { count, len } => {
                let many = if *count == 1 { "" } else { "s" };
                write!(f, "posts {count} receive{many} of {len} bytes")
            }
            What::Memory { text } | What::Rdma { text } => f.write_str(text),
            What::WorkFailed { text } => write!(f, "failed: {text}"),
            What::Upper { text } => write!(f, "upper layer: {text}"),
            What::Disconnect => f.write_str("ends the transport connection"),
            What::Disconnected => f.write_str("transport connection is down"),
            What::Finding { index } => write!(f, "FINDING {index}"),
            What::Step { text } => write!(f, "-- {text}"),
        }
    }
}

/// A recording: the first and the last events of a play. The alternate form (`{:#}`) has the bytes of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    first: Vec<Event>,
    /// How many between the two are not kept.
    left_out: u64,
    last: VecDeque<Event>,
}

impl Trace {
    pub(super) fn push(&mut self, at: Instant, connection: usize, by: By, what: What) {
        let event = Event { at: at.as_nanos(), connection, by, what };
        if self.first.len() < EVENTS_KEPT {
            return self.first.push(event);
        }
        if self.last.len() == EVENTS_KEPT {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(event);
    }

    /// The events kept, in order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.first.iter().chain(&self.last)
    }

    /// How many of the events kept are from the beginning: what is left out comes behind them.
    #[must_use]
    pub fn kept_first(&self) -> usize {
        self.first.len()
    }

    /// How many events of the middle are not kept.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The last message of one side, if it is kept.
    #[must_use]
    pub fn last_message(&self, connection: usize, by: By) -> Option<&Packet> {
        let mut all = self.last.iter().rev().chain(self.first.iter().rev());
        all.find_map(|event| match &event.what {
            What::Message(packet) if event.by == by && event.connection == connection => Some(packet),
            _ => None,
        })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, event: &Event| {
            if f.alternate() { writeln!(f, "{event:#}") } else { writeln!(f, "{event}") }
        };
        for event in &self.first {
            line(f, event)?;
        }
        if self.left_out > 0 {
            writeln!(f, "             ... {} events left out", self.left_out)?;
        }
        for event in &self.last {
            line(f, event)?;
        }
        Ok(())
    }
}
