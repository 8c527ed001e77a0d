//! Subjects that are wrong in one thing: `smbd-core` in the simulator, whose messages are tampered with on their way to the
//! script, as are the script's on theirs.

mod hand;
mod rig;

use std::time::Duration;

use smbd_conformance::catalogue::Command;
use smbd_conformance::suite::rig::Told;
use smbd_core::{Instant, Token};

pub use rig::Tampered;

/// A message, and how much later it comes than it should.
pub type Later = (Duration, Vec<u8>);

/// What becomes of a message of the script.
#[derive(Debug, Default)]
pub struct Heard {
    /// What the subject gets instead.
    pub gets: Vec<Later>,
    /// What the script gets besides.
    pub answers: Vec<Later>,
    /// The subject ends the connection after this time.
    pub ends: Option<Duration>,
}

/// What happens when the transport connection comes up.
#[derive(Debug, Default)]
pub struct Up {
    /// It does not.
    pub refused: bool,
    /// What the script gets.
    pub says: Vec<Later>,
    /// The subject ends the connection after this time.
    pub ends: Option<Duration>,
}

/// What is wrong with one connection. Messages of each side are counted from 0.
pub trait Tamper {
    /// The script sends a message, which may be changed before the subject gets it. Returns what the script gets at once.
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let _ = (index, bytes);
        Vec::new()
    }

    /// The subject sends a message. Returns what the script gets instead, and how much later.
    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<Later> {
        let _ = index;
        vec![(Duration::ZERO, bytes)]
    }

    /// As [`said`](Self::said), with the time.
    fn hears(&mut self, now: Instant, index: u64, mut bytes: Vec<u8>) -> Heard {
        let _ = now;
        let answers = self.said(index, &mut bytes).into_iter().map(|bytes| (Duration::ZERO, bytes));
        Heard {
            answers: answers.collect(),
            gets: vec![(Duration::ZERO, bytes)],
            ends: self.hangs_up().then_some(Duration::ZERO),
        }
    }

    /// As [`came`](Self::came), with the time.
    fn says(&mut self, now: Instant, index: u64, bytes: Vec<u8>) -> Vec<Later> {
        let _ = now;
        self.came(index, bytes)
    }

    /// The transport connection has come up.
    fn up(&mut self, now: Instant) -> Up {
        let _ = now;
        Up::default()
    }

    /// It never connects.
    fn is_absent(&self) -> bool {
        false
    }

    /// The end of the connection is kept from the script.
    fn stays_up(&self) -> bool {
        false
    }

    /// The end of the connection comes so much later.
    fn ends_late(&self) -> Duration {
        Duration::ZERO
    }

    /// The subject ends the connection, behind the message that the script has sent last.
    fn hangs_up(&self) -> bool {
        false
    }

    /// What a message invalidates instead.
    fn invalidates(&mut self, token: Option<Token>) -> Option<Token> {
        token
    }

    /// What is in a buffer of the script instead, which held the first when the script filled it.
    fn wrote(&mut self, filled: &[u8], bytes: Vec<u8>) -> Vec<u8> {
        let _ = filled;
        bytes
    }

    /// The subject's private data.
    fn private(&self, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
        bytes
    }

    /// The script's private data, as the subject gets it.
    fn hears_private(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// How many RDMA Reads may be under way, as the subject's device has it.
    fn read_depth(&self, depth: u16) -> u16 {
        depth
    }

    /// What the upper layer is told instead.
    fn told(&self, now: Instant, told: &[(Instant, Told)]) -> Vec<(Instant, Told)> {
        let _ = now;
        told.to_vec()
    }

    /// Whether a command comes out as another.
    fn commands(&self, command: Command) -> bool {
        let _ = command;
        false
    }
}

/// Makes what is wrong with the next connection.
pub type Wrong = fn() -> Box<dyn Tamper>;

/// Makes what is wrong with the connection of this number.
pub trait Makes: Clone + 'static {
    /// The next one.
    fn make(&self, connection: usize) -> Box<dyn Tamper>;
}

impl Makes for Wrong {
    fn make(&self, _: usize) -> Box<dyn Tamper> {
        self()
    }
}

/// Its messages are changed.
pub struct Says(pub fn(u64, &mut Vec<u8>));

impl Tamper for Says {
    fn came(&mut self, index: u64, mut bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        self.0(index, &mut bytes);
        vec![(Duration::ZERO, bytes)]
    }
}

/// Some of its messages never come.
pub struct Keeps(pub fn(u64, &[u8]) -> bool);

impl Tamper for Keeps {
    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        if self.0(index, &bytes) { Vec::new() } else { vec![(Duration::ZERO, bytes)] }
    }
}

/// Its connections never end.
pub struct Stays;

impl Tamper for Stays {
    fn stays_up(&self) -> bool {
        true
    }
}

/// It never connects.
pub struct Absent;

impl Tamper for Absent {
    fn is_absent(&self) -> bool {
        true
    }
}

/// How many messages the subject may still send, by what both sides have said.
#[derive(Default)]
pub struct Credits(pub i64);

impl Credits {
    /// The script says something.
    pub fn said(&mut self, index: u64, bytes: &[u8]) {
        self.0 += match (index, bytes.len()) {
            (0, 32) => i64::from(word(bytes, 10, 2)),
            (0, _) => 0,
            _ => i64::from(word(bytes, 2, 2)),
        };
    }

    /// The subject says something.
    pub fn came(&mut self, index: u64) {
        self.0 -= i64::from(index > 0);
    }
}

/// Writes bytes into a message that is long enough.
pub fn put<const N: usize>(bytes: &mut [u8], at: usize, with: [u8; N]) {
    if let Some(to) = bytes.get_mut(at..at + N) {
        to.copy_from_slice(&with);
    }
}

/// Changes a byte of every message but the first.
pub fn flip(index: u64, bytes: &mut [u8], at: usize) {
    if let Some(byte) = bytes.get_mut(at).filter(|_| index > 0) {
        *byte ^= 1;
    }
}

/// Whether a first message is a response that accepts.
pub fn accepts(index: u64, bytes: &[u8]) -> bool {
    index == 0 && bytes.len() == 32 && bytes[12..16] == [0; 4]
}

/// A number of a message, the least significant byte first; 0 if it is not there.
pub fn word(bytes: &[u8], at: usize, len: usize) -> u32 {
    let field = bytes.get(at..at + len).unwrap_or_default();
    field.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}
