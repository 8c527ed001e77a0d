//! The text of each row of a diagram.

use super::fold::{Item, More};
use crate::suite::outcome::Played;
use crate::suite::report::html::words;
use crate::suite::trace::{By, Event, Kind, Packet, What, hex};

/// Characters that have room between the lifelines.
const WIDTH: usize = 92;
/// Lines of a text that is not the suite's own.
const LINES_MAX: usize = 4;
/// Bytes of a message that its arrow tells when it is pointed at.
const BYTES_SHOWN: usize = 32;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Nanoseconds from the beginning of the play.
    pub(super) at: Option<u64>,
    pub(super) look: Look,
    /// At least one.
    pub(super) lines: Vec<String>,
    /// First bytes of a message.
    pub(super) bytes: Option<String>,
    /// The finding on this page that the row is about.
    pub(super) finding: Option<usize>,
}

/// How a row is drawn. The names are classes of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// From one lifeline to the other.
    Arrow(By, &'static str),
    /// At a lifeline.
    Note(By, &'static str),
    /// Across both.
    Band(&'static str),
}

/// All rows.
pub(super) fn rows(items: &[Item<'_>], played: &Played, numbers: &[usize]) -> Vec<Row> {
    let mut connection = 0;
    let mut rows = Vec::new();
    for item in items {
        match item {
            Item::Event(event) => {
                if event.connection != connection {
                    connection = event.connection;
                    rows.push(Row::band("connection", vec![format!("connection {}", connection + 1)]));
                }
                rows.push(event_row(event));
            }
            Item::Finding(index) => rows.push(finding(played, numbers, *index)),
            Item::More(more) => rows.push(Row::band("more", words::wrapped(&said(more), WIDTH, LINES_MAX))),
        }
    }
    rows
}

impl Row {
    const fn band(class: &'static str, lines: Vec<String>) -> Self {
        Self { at: None, look: Look::Band(class), lines, bytes: None, finding: None }
    }
}

fn event_row(event: &Event) -> Row {
    let by = event.by;
    let short = |look, text: &str| (look, words::wrapped(text, WIDTH, LINES_MAX), None);
    let (look, lines, bytes) = match &event.what {
        What::Opening => short(Look::Arrow(by, "link"), "opens the transport connection"),
        What::Connected => short(Look::Band("link"), "transport connection is up"),
        What::ConnectFailed { reason } => {
            short(Look::Note(by, "failed"), &format!("transport connection failed: {reason}"))
        }
        What::Message(packet) => {
            let shown = packet.bytes.get(..BYTES_SHOWN).unwrap_or(&packet.bytes);
            let more = if packet.len > shown.len() { " …" } else { "" };
            (Look::Arrow(by, "message"), message(packet), Some(hex(shown) + more))
        }
        What::Receives { count, len } => {
            let many = if *count == 1 { "" } else { "s" };
            short(Look::Note(by, "receives"), &format!("posts {count} receive{many} of {len} bytes"))
        }
        What::Memory { text } => short(Look::Note(by, "memory"), text),
        What::Rdma { text } => short(Look::Arrow(by, "rdma"), text),
        What::WorkFailed { text } => short(Look::Note(by, "failed"), &format!("failed: {text}")),
        What::Upper { text } => short(Look::Note(by, "upper"), &format!("upper layer: {text}")),
        What::Disconnect => short(Look::Arrow(by, "down"), "ends the transport connection"),
        What::Disconnected => short(Look::Note(by, "down"), "transport connection is down"),
        What::Finding { index } => short(Look::Band("finding"), &format!("Finding {index}")),
        What::Step { text } => short(Look::Band("step"), text),
    };
    Row { at: Some(event.at), look, lines, bytes, finding: None }
}

fn finding(played: &Played, numbers: &[usize], index: usize) -> Row {
    let number = numbers.get(index).copied();
    let name = number.map_or_else(|| "Finding".into(), |number| format!("Finding {number}"));
    let known = played.findings.get(index);
    let text = known.map_or("", |finding| &finding.text);
    Row {
        at: known.map(|finding| finding.at),
        finding: number,
        ..Row::band("finding", words::wrapped(&format!("{name}: {text}"), WIDTH, LINES_MAX))
    }
}

/// Which message it is; then the fields that say something.
fn message(packet: &Packet) -> Vec<String> {
    let bytes = if packet.len == 1 { "byte" } else { "bytes" };
    let mut head = format!("{}, {} {bytes}", packet.kind, packet.len);
    if let Some(token) = packet.invalidates {
        head.push_str(&format!(", invalidates 0x{token:08x}"));
    }
    let mut fields: Vec<String> = Vec::new();
    for (name, value) in packet.fields().filter(|(name, value)| matters(packet, name, *value)) {
        let field = match (name, value) {
            ("Flags", 1) => "Flags 1 (response requested)".into(),
            _ => format!("{name} {}", words::value(name, value)),
        };
        match fields.last_mut().filter(|line| line.len() + field.len() + 3 <= WIDTH) {
            Some(line) => line.push_str(&format!(" · {field}")),
            None => fields.push(field),
        }
    }
    fields.insert(0, head);
    fields
}

/// Whether a field is more than what nearly every message has there.
fn matters(packet: &Packet, name: &str, value: u64) -> bool {
    let data = packet.kind == Kind::DataTransfer;
    let usual_offset =
        if packet.fields().any(|field| field.0 == "DataLength" && field.1 > 0) { 24 } else { 0 };
    match name {
        "Reserved" => value != 0,
        "Flags" | "RemainingDataLength" | "DataLength" if data => value != 0,
        "DataOffset" => value != usual_offset,
        _ => true,
    }
}

fn said(more: &More) -> String {
    let counted = |count: u64, what: &str| {
        (count > 0).then(|| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
    };
    let messages = match (counted(more.script, "message"), counted(more.subject, "message")) {
        (Some(script), Some(_)) => Some(format!("{script} of the script, {} of the subject", more.subject)),
        (Some(script), None) => Some(format!("{script} of the script")),
        (None, Some(subject)) => Some(format!("{subject} of the subject")),
        (None, None) => None,
    };
    let unkept = match (more.unkept, more.unkept == more.events()) {
        (0, _) => None,
        (_, true) => Some("not recorded".into()),
        (count, false) => Some(format!("{count} not recorded")),
    };
    let parts = [messages, counted(more.findings, "finding"), counted(more.others, "other event"), unkept];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let alike = if more.alike { " like these" } else { "" };
    format!("{} more{alike}: {}", more.events(), parts.join(", "))
}
