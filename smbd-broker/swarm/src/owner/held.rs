//! A connection that an owner has.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll};

use smbd_broker::owner::{Connection, Happened};
use smbd_broker::socket::{PacketBuffer, PacketSocket};
use smbd_broker::wire::{Age, Event, Limits, Messages, Newcomer, Packet};
use smbd_core::Instant;

use crate::ledger::OwnerNumber;
use crate::socket::End;
use crate::words::Request;
use smbd_testkit::{Breach, law};

/// What a message of the client counts at least, in bytes.
const LEN_MIN: u32 = 256;

/// A socket of a connection.
#[derive(Debug)]
pub struct Line {
    pub socket: End,
    pub machine: Connection,
    pub outgoing: VecDeque<Vec<u8>>,
    /// An owner that does wrong has changed what went out on it: what is told here fits that, and not its owner's records.
    pub is_changed: bool,
    /// A message of which pieces have come.
    pub is_amid: bool,
    /// Messages that are not told as taken.
    pub untaken: Vec<u32>,
}

/// A connection that an owner has.
#[derive(Debug)]
pub struct Held {
    /// The number of its devices.
    pub connection: usize,
    pub newcomer: Newcomer,
    pub line: Line,
    /// The socket that it had before it was attached, which is read to its end first.
    pub old: Option<Line>,
    /// It is being attached.
    pub is_attaching: bool,
    /// Its socket has ended, and another one is about to come.
    pub is_between: bool,
    /// It is being ended, and stays where it is.
    pub is_ending: bool,
    /// Its socket is closed when all is written.
    pub is_closing: bool,
    /// The message that comes next.
    pub next: usize,
    /// What has come of the past: requests and responses.
    pub past: [usize; 2],
    pub is_introduced: bool,
    /// What is to be done, and when.
    pub todo: VecDeque<(Instant, Todo)>,
    pub running: BTreeMap<u64, Moving>,
    pub is_over: bool,
}

/// What is to be done for a client.
#[derive(Clone, Debug)]
pub enum Todo {
    /// To answer, with the first token invalidated or not.
    Say(Vec<u8>, Option<smbd_core::Token>),
    Move(Request),
    /// To end the connection: with the command for it, or by closing its socket.
    End(bool),
}

/// A transfer that is under way.
#[derive(Clone, Debug)]
pub struct Moving {
    pub request: Request,
    pub len: u32,
    /// Whose slots they are.
    pub owner: OwnerNumber,
}

/// What came of reading.
#[derive(Debug)]
pub enum Came {
    Events(Vec<Happened>),
    End,
    Nothing,
}

impl Todo {
    /// What it is, for who reads the steps.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Say(..) => "answer",
            Self::Move(_) => "transfer",
            Self::End(_) => "end",
        }
    }
}

impl Line {
    pub fn new(socket: End, limits: Limits, newcomer: &Newcomer) -> Self {
        let machine = Connection::new(limits, newcomer.max_send_size, newcomer.max_read_write_size);
        Self {
            socket,
            machine,
            outgoing: VecDeque::new(),
            is_changed: false,
            is_amid: false,
            untaken: Vec::new(),
        }
    }

    /// Sends what waits. Whether something was sent.
    pub fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        let mut any = false;
        while let Some(packet) = self.outgoing.front() {
            match self.socket.poll_send(cx, packet, None) {
                Poll::Ready(Ok(())) => {}
                // Why is in what can still be read.
                Poll::Ready(Err(_)) => {
                    self.outgoing.clear();
                    return true;
                }
                Poll::Pending => break,
            }
            self.outgoing.pop_front();
            any = true;
        }
        any
    }

    pub fn put(&mut self, packet: &Packet) {
        self.outgoing.push_back(packet.bytes().to_vec());
    }

    pub fn read(&mut self, cx: &mut Context<'_>, is_strict: bool) -> Result<Came, Breach> {
        let mut packet = PacketBuffer::new();
        match self.socket.poll_receive(cx, &mut packet) {
            Poll::Pending => return Ok(Came::Nothing),
            Poll::Ready(Err(_)) => return Ok(Came::End),
            Poll::Ready(Ok(passed)) => law!("wire", passed.is_empty(), "something goes with an event"),
        }
        for message in Messages::of(packet.bytes()).flatten() {
            if let Ok(Event::Received { remaining, .. }) = Event::parse(&message) {
                self.is_amid = remaining > 0;
            }
        }
        match self.machine.received(packet.bytes()) {
            Ok(events) => Ok(Came::Events(events)),
            Err(error) => {
                law!("wire", !is_strict, "{error}");
                Ok(Came::Events(Vec::new()))
            }
        }
    }

    /// A message of the client has come.
    pub fn add_untaken(&mut self, len: usize, limits: &Limits) -> Result<(), Breach> {
        let before: u64 = self.untaken.iter().map(|len| u64::from(*len)).sum();
        let most = u64::from(limits.receive_bytes_max);
        law!(
            "bounded",
            before < most,
            "{before} bytes were not taken, and another message comes; {most} may be"
        );
        self.untaken.push(u32::try_from(len).unwrap_or(u32::MAX).max(LEN_MIN));
        Ok(())
    }

    /// Tells that messages were taken.
    pub fn take(&mut self, count: usize) {
        let count = count.min(self.untaken.len());
        if count > 0 {
            self.untaken.drain(..count);
            self.put(&self.machine.taken(count as u32));
        }
    }
}

impl Held {
    pub fn new(connection: usize, newcomer: Newcomer, line: Line) -> Self {
        Self {
            connection,
            newcomer,
            line,
            old: None,
            is_attaching: false,
            is_between: false,
            is_ending: false,
            is_closing: false,
            next: 0,
            past: [0; 2],
            is_introduced: false,
            todo: VecDeque::new(),
            running: BTreeMap::new(),
            is_over: false,
        }
    }

    /// Whether it can be handed over now: nothing is half read or half written.
    pub fn can_go(&self) -> bool {
        let is_at_rest = !self.line.is_amid && self.line.outgoing.is_empty() && self.is_introduced;
        is_at_rest && self.old.is_none() && !self.is_attaching && !self.is_over && !self.is_ending
    }

    /// A message of the past.
    pub fn note_past(&mut self, age: Age) -> (bool, usize) {
        let is_request = age == Age::PastRequest;
        let at = &mut self.past[usize::from(!is_request)];
        *at += 1;
        (is_request, *at - 1)
    }

    /// When it has something to do by itself.
    pub fn next_time(&self) -> Option<Instant> {
        if self.is_attaching { None } else { self.todo.front().map(|(at, _)| *at) }
    }
}
