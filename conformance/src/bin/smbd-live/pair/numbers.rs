//! What a test saw of a connection, held against what a capture of it shows.
//!
//! A side may say something by itself at any time: a grant. So the numbers are those of the first so many messages each way, and
//! what the capture has behind them may carry no data. No time has to pass in which nothing comes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{BufReader, Write as _};
use std::path::Path;

use smbd_core::Traffic;
use smbd_core::wire::{Flags, NegotiateResponse};
use smbd_sim::decode::{self, Body, Direction, ItemKind, Options, Report};
use smbd_verbs::blocking::Connection;

use crate::case::Failure;
use crate::patience::PATIENCE;
use crate::tally::Tally;

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
    let stats = *connection.endpoint().connection().stats();
    // The answer to a probe from behind them says that all messages of this side have arrived.
    connection.probe(PATIENCE)?;
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

/// What a capture shows of one connection.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// Without the sums.
    negotiated: Numbers,
    sent: Vec<Sums>,
    received: Vec<Sums>,
}

impl Shown {
    /// Sums of as many messages as were noted each way, if what is behind them carries no data.
    fn first(&self, noted: &Numbers) -> Option<Numbers> {
        let sent = Sums::of_first(&self.sent, noted.sent.messages)?;
        let received = Sums::of_first(&self.received, noted.received.messages)?;
        Some(Numbers { sent, received, ..self.negotiated })
    }
}

impl Sums {
    fn of_first(messages: &[Self], count: u64) -> Option<Self> {
        let (first, rest) = messages.split_at_checked(usize::try_from(count).ok()?)?;
        let add = |mut sums: Self, message: &Self| {
            let mut message = *message;
            for (sum, part) in sums.fields().into_iter().zip(message.fields()) {
                *sum += *part;
            }
            sums
        };
        let is_empty = |message: &Self| message.bytes == 0;
        rest.iter().all(is_empty).then(|| first.iter().fold(Self::default(), add))
    }
}

/// The last connection to each port with SMB Direct on it.
fn of(report: &Report) -> BTreeMap<u16, Shown> {
    let mut all: BTreeMap<usize, Shown> = BTreeMap::new();
    for item in &report.items {
        let ItemKind::Message(message) = &item.kind else { continue };
        let shown = all.entry(item.connection).or_default();
        match &message.body {
            Body::NegotiateResponse(response) => shown.negotiated.negotiated(response),
            Body::DataTransfer(data) => {
                let messages = match item.direction {
                    Direction::ToAcceptor => &mut shown.sent,
                    Direction::ToInitiator => &mut shown.received,
                };
                messages.push(Sums {
                    messages: 1,
                    bytes: data.data_length.into(),
                    credits: data.credits_granted.into(),
                    keepalives: data.flags.contains(Flags::RESPONSE_REQUESTED).into(),
                });
            }
            Body::NegotiateRequest(_) | Body::Malformed(_) => {}
        }
    }
    let port_of = |number| report.connections.iter().find(|connection| connection.number == number);
    all.into_iter().filter_map(|(number, shown)| Some((port_of(number)?.acceptor.port?, shown))).collect()
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { granted_first, max_receive_size, max_fragmented_size, sent, received, .. } = self;
        write!(
            f,
            "granted {granted_first}, {max_receive_size}/{max_fragmented_size} bytes, {}+{} messages, {}+{} bytes, \
             {}+{} credits, {} probes",
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
        let shown = shown.get(&port);
        if shown.and_then(|shown| shown.first(&noted)) == Some(noted) {
            tally.passed += 1;
            println!("{name:<44} ok      {noted}");
        } else {
            tally.failed += 1;
            println!("{name:<44} FAILED\nnoted {noted:?}\nshown {shown:?}");
        }
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Shown, Sums};

    fn message(bytes: u64, credits: u64) -> Sums {
        Sums { messages: 1, bytes, credits, keepalives: 0 }
    }

    #[test]
    fn only_empty_messages_may_come_behind_those_that_were_noted() {
        let sent = vec![message(100, 1), message(0, 9), message(0, 3)];
        let noted = Numbers {
            sent: Sums { messages: 2, bytes: 100, credits: 10, keepalives: 0 },
            received: Sums { messages: 1, bytes: 50, credits: 2, keepalives: 0 },
            ..Numbers::default()
        };
        let mut shown = Shown { sent, received: vec![message(50, 2)], ..Shown::default() };
        assert_eq!(shown.first(&noted), Some(noted));
        shown.received.push(message(1, 0));
        assert_eq!(shown.first(&noted), None, "data that this side did not see");
        shown.received = vec![message(50, 1)];
        assert_ne!(shown.first(&noted), Some(noted), "another grant");
        shown.received.clear();
        assert_eq!(shown.first(&noted), None, "fewer than were noted");
    }
}
