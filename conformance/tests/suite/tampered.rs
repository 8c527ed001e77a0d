//! Subjects that are wrong in one thing: `smbd-core` in the simulator, whose messages are tampered with on their way to the
//! script, as are the script's on theirs.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use smbd_conformance::catalogue::{Need, UnderTest};
use smbd_conformance::suite::rig::sim::Sim;
use smbd_conformance::suite::rig::{
    Ability, Full, News, Opening, Order, Rig, Settings, Target, Unable, UpperHand,
};
use smbd_conformance::suite::trace::Event;
use smbd_core::{ConfigError, Instant, Params, Token};

/// What is wrong with one connection. Messages of each side are counted from 0.
pub trait Tamper {
    /// The script sends a message, which may be changed before the subject gets it. Returns what the script gets at once.
    fn said(&mut self, index: u64, bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let _ = (index, bytes);
        Vec::new()
    }

    /// The subject sends a message. Returns what the script gets instead, and how much later.
    fn came(&mut self, index: u64, bytes: Vec<u8>) -> Vec<(Duration, Vec<u8>)> {
        let _ = index;
        vec![(Duration::ZERO, bytes)]
    }

    /// It never connects.
    fn is_absent(&self) -> bool {
        false
    }

    /// The end of the connection is kept from the script.
    fn stays_up(&self) -> bool {
        false
    }

    /// The subject ends the connection, behind the message that the script has sent last.
    fn hangs_up(&self) -> bool {
        false
    }
}

/// Makes what is wrong with the next connection.
pub type Wrong = fn() -> Box<dyn Tamper>;

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

/// A target whose subjects are wrong like this.
pub struct Tampered(pub Wrong);

impl Target for Tampered {
    fn name(&self) -> String {
        "tampered".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        Sim.lacks(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let rig = Sim.rig(variant, role, settings)?;
        Ok(Box::new(TamperedRig { rig, wrong: self.0, connections: BTreeMap::new() }))
    }
}

struct Connection {
    tamper: Box<dyn Tamper>,
    said: u64,
    came: u64,
    /// What the script gets, and when.
    waiting: VecDeque<(Instant, News)>,
    hung_up: bool,
    /// The script has ended it.
    left: bool,
    /// Receives that the script posts for messages which have used none.
    spare: usize,
}

struct TamperedRig {
    rig: Box<dyn Rig>,
    wrong: Wrong,
    connections: BTreeMap<usize, Connection>,
}

impl TamperedRig {
    fn connection(&mut self, number: usize) -> &mut Connection {
        let wrong = self.wrong;
        self.connections.entry(number).or_insert_with(|| Connection {
            tamper: wrong(),
            said: 0,
            came: 0,
            waiting: VecDeque::new(),
            hung_up: false,
            left: false,
            spare: 0,
        })
    }

    fn send(&mut self, number: usize, bytes: &[u8], token: Option<Token>) -> Result<u64, Full> {
        let now = self.rig.now();
        let connection = self.connection(number);
        let mut bytes = bytes.to_vec();
        let answers = connection.tamper.said(connection.said, &mut bytes);
        connection.said += 1;
        connection.spare += answers.len();
        connection.waiting.extend(answers.into_iter().map(|bytes| (now, News::Message(bytes, None))));
        if connection.tamper.hangs_up() && !connection.hung_up {
            connection.hung_up = true;
            connection.waiting.push_back((now, News::Disconnected));
        }
        self.rig.order(number, Order::Send(&bytes, token))
    }

    /// Takes in what the script's device has to say.
    fn take(&mut self, number: usize) {
        while let Some((at, news)) = self.rig.news(number) {
            let connection = self.connection(number);
            let last = connection.waiting.back().map_or(at, |(due, _)| at.max(*due));
            match news {
                _ if connection.hung_up => {}
                News::Message(bytes, token) => {
                    let index = connection.came;
                    connection.came += 1;
                    let all = connection.tamper.came(index, bytes);
                    connection.spare += all.len().saturating_sub(1);
                    let mut token = token;
                    for (late, bytes) in all {
                        let due = last.max(at.saturating_add(late));
                        connection.waiting.push_back((due, News::Message(bytes, token.take())));
                    }
                }
                News::Disconnected if connection.tamper.stays_up() && !connection.left => {}
                News::Disconnected => connection.waiting.push_back((last, News::Disconnected)),
                other => connection.waiting.push_back((at.max(last), other)),
            }
        }
    }
}

impl Rig for TamperedRig {
    fn now(&self) -> Instant {
        self.rig.now()
    }

    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        self.rig.configure(settings)
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        self.rig.open(opening)
    }

    fn await_request(&mut self, connection: usize) -> Result<bool, Unable> {
        if self.connection(connection).tamper.is_absent() {
            return Err(Unable::Broken("the subject did not connect within 30 s".into()));
        }
        self.rig.await_request(connection)
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        match order {
            Order::Send(bytes, token) => self.send(connection, bytes, token),
            // There is one already.
            Order::Receive(_) if self.connection(connection).spare > 0 => {
                self.connection(connection).spare -= 1;
                Ok(u64::MAX)
            }
            Order::Disconnect => {
                self.connection(connection).left = true;
                self.rig.order(connection, order)
            }
            other => self.rig.order(connection, other),
        }
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        self.rig.allocate(connection, bytes)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        self.rig.contents(connection, buffer)
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        self.rig.fill(connection, buffer, bytes);
    }

    fn cut(&mut self, connection: usize) -> Result<(), Unable> {
        self.connection(connection).left = true;
        self.rig.cut(connection)
    }

    fn private_data(&mut self, connection: usize) -> Option<Vec<u8>> {
        self.rig.private_data(connection)
    }

    fn news(&mut self, number: usize) -> Option<(Instant, News)> {
        self.take(number);
        let now = self.rig.now();
        let connection = self.connection(number);
        if connection.waiting.front().is_some_and(|(due, _)| *due <= now) {
            return connection.waiting.pop_front();
        }
        None
    }

    fn pass(&mut self, limit: Instant) {
        let due = self.connections.values().filter_map(|connection| connection.waiting.front());
        let limit = due.map(|(due, _)| *due).fold(limit, Instant::min);
        self.rig.pass(limit);
    }

    fn device_lacks(&self, ability: Ability) -> Option<String> {
        self.rig.device_lacks(ability)
    }

    fn seen(&mut self) -> Vec<Event> {
        self.rig.seen()
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.rig.upper(connection)
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
