//! What a test saw of a connection, held against what a capture of it shows.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use smbd_core::Traffic;
use smbd_core::wire::{Flags, NegotiateResponse};
use smbd_sim::decode::{self, Body, Direction, ItemKind, Options, Report};
use smbd_verbs::blocking::Connection;

use crate::case::Failure;
use crate::tally::Tally;

/// When a connection has been quiet for so long, nothing is under way, and its numbers are taken.
const SETTLE: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(10);

/// Numbers of one connection; the names are those of the columns in the file of notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    granted_first: u64,
    max_receive_size: u64,
    max_fragmented_size: u64,
    max_read_write_size: u64,
    sent: Sums,
    received: Sums,
}

/// Data Transfer messages of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    messages: u64,
    bytes: u64,
    credits: u64,
    keepalives: u64,
}

impl From<Traffic> for Sums {
    fn from(traffic: Traffic) -> Self {
        let Traffic { messages, bytes, credits, keepalives, .. } = traffic;
        Self { messages, bytes, credits, keepalives }
    }
}

impl Sums {
    const fn fields(&mut self) -> [&mut u64; 4] {
        [&mut self.messages, &mut self.bytes, &mut self.credits, &mut self.keepalives]
    }
}

impl Numbers {
    fn fields(&mut self) -> Vec<&mut u64> {
        let negotiated = [
            &mut self.granted_first,
            &mut self.max_receive_size,
            &mut self.max_fragmented_size,
            &mut self.max_read_write_size,
        ];
        negotiated.into_iter().chain(self.sent.fields()).chain(self.received.fields()).collect()
    }

    fn negotiated(&mut self, response: &NegotiateResponse) {
        self.granted_first = response.credits_granted.into();
        self.max_receive_size = response.max_receive_size.into();
        self.max_fragmented_size = response.max_fragmented_size.into();
        self.max_read_write_size = response.max_read_write_size.into();
    }
}

/// Closes an initiator's connection and appends its numbers to `$OUT/numbers`.
pub(super) fn note(mut connection: Connection, port: u16) -> Result<(), Failure> {
    let mut stats = *connection.endpoint().connection().stats();
    loop {
        connection.idle(SETTLE)?;
        let now = *connection.endpoint().connection().stats();
        if std::mem::replace(&mut stats, now) == now {
            break;
        }
    }
    let mut numbers = Numbers::default();
    let head = connection.backend().first_received().ok_or("no message came")?;
    numbers.negotiated(&NegotiateResponse::parse(head.as_bytes())?);
    numbers.sent = stats.sent.into();
    numbers.received = stats.received.into();
    connection.close(PATIENCE)?;
    let Some(folder) = std::env::var_os("OUT") else { return Ok(()) };
    let path = Path::new(&folder).join("numbers");
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let columns: Vec<_> = numbers.fields().iter().map(|field| field.to_string()).collect();
    writeln!(file, "{port} {}", columns.join(" "))?;
    Ok(())
}

fn parse(line: &str) -> Result<(u16, Numbers), Failure> {
    let mut words = line.split_ascii_whitespace();
    let port = words.next().ok_or("an empty line of numbers")?.parse()?;
    let mut numbers = Numbers::default();
    for field in numbers.fields() {
        *field = words.next().ok_or_else(|| format!("too few numbers: {line}"))?.parse()?;
    }
    Ok((port, numbers))
}

/// The last connection to each port with SMB Direct on it.
fn of(report: &Report) -> BTreeMap<u16, Numbers> {
    let mut all: BTreeMap<usize, Numbers> = BTreeMap::new();
    for item in &report.items {
        let ItemKind::Message(message) = &item.kind else { continue };
        let numbers = all.entry(item.connection).or_default();
        match &message.body {
            Body::NegotiateResponse(response) => numbers.negotiated(response),
            Body::DataTransfer(data) => {
                let sums = match item.direction {
                    Direction::ToAcceptor => &mut numbers.sent,
                    Direction::ToInitiator => &mut numbers.received,
                };
                sums.messages += 1;
                sums.bytes += u64::from(data.data_length);
                sums.credits += u64::from(data.credits_granted);
                sums.keepalives += u64::from(data.flags.contains(Flags::RESPONSE_REQUESTED));
            }
            Body::NegotiateRequest(_) | Body::Malformed(_) => {}
        }
    }
    let port_of = |number| report.connections.iter().find(|connection| connection.number == number);
    all.into_iter().filter_map(|(number, numbers)| Some((port_of(number)?.acceptor.port?, numbers))).collect()
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { granted_first, max_receive_size, max_fragmented_size, sent, received, .. } = self;
        write!(
            f,
            "granted {granted_first}, {max_receive_size}/{max_fragmented_size} bytes, {}+{} messages, {}+{} bytes, \
             {}+{} credits, {} questions",
            sent.messages,
            received.messages,
            sent.bytes,
            received.bytes,
            sent.credits,
            received.credits,
            sent.keepalives
        )
    }
}

/// Holds a file of notes against a capture, a line for each connection: a test, that they agree.
pub(crate) fn compare(capture: &Path, notes: &Path) -> Result<Tally, Failure> {
    let report = decode::read_with(BufReader::new(fs::File::open(capture)?), Options { keep_bytes: false });
    if let Some(problem) = &report.problem {
        return Err(format!("{}: {problem}", capture.display()).into());
    }
    let shown = of(&report);
    let mut tally = Tally::default();
    for line in fs::read_to_string(notes)?.lines() {
        let (port, noted) = parse(line)?;
        let name = format!("capture of the connection to port {port}");
        match shown.get(&port) {
            Some(numbers) if *numbers == noted => {
                tally.passed += 1;
                println!("{name:<44} ok      {noted}");
            }
            other => {
                tally.failed += 1;
                println!("{name:<44} FAILED\nnoted {noted:?}\nshown {other:?}");
            }
        }
    }
    Ok(tally)
}
