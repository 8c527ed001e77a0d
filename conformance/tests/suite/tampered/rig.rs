//! A target whose subjects are wrong.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use smbd_conformance::catalogue::{Need, UnderTest};
use smbd_conformance::suite::rig::sim::Sim;
use smbd_conformance::suite::rig::{
    Ability, Full, News, Opening, Order, Rig, Settings, Target, Told, Unable, UpperHand,
};
use smbd_conformance::suite::trace::Event;
use smbd_core::error::ConnectReason;
use smbd_core::{ConfigError, Instant, Params, Token};

use super::{Later, Makes, Tamper, Wrong};

/// A target whose subjects are wrong like this.
pub struct Tampered<M = Wrong>(pub M);

impl<M: Makes> Target for Tampered<M> {
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
        let (rig, wrong) = (Sim.rig(variant, role, settings)?, self.0.clone());
        Ok(Box::new(TamperedRig {
            rig,
            make: Box::new(move |connection| wrong.make(connection)),
            connections: BTreeMap::new(),
            opened: 0,
            hand: 0,
            told: Vec::new(),
        }))
    }
}

pub(super) struct Connection {
    pub(super) tamper: Box<dyn Tamper>,
    said: u64,
    came: u64,
    /// What the script gets, and when.
    waiting: VecDeque<(Instant, News)>,
    /// What the subject gets, and when.
    under_way: VecDeque<(Instant, Vec<u8>, Option<Token>)>,
    /// When the subject ends it.
    ending: Option<Instant>,
    hung_up: bool,
    /// The script has ended it.
    left: bool,
    /// Receives that the script posts for messages which have used none.
    spare: usize,
    /// Bytes of the receives that it posts.
    receive_len: u32,
    /// What the script has put into its buffers.
    filled: BTreeMap<usize, Vec<u8>>,
}

pub(super) struct TamperedRig {
    pub(super) rig: Box<dyn Rig>,
    make: Box<dyn Fn(usize) -> Box<dyn Tamper>>,
    pub(super) connections: BTreeMap<usize, Connection>,
    opened: usize,
    /// The connection whose upper layer is looked at, and what it was told.
    pub(super) hand: usize,
    pub(super) told: Vec<(Instant, Told)>,
}

impl TamperedRig {
    pub(super) fn connection(&mut self, number: usize) -> &mut Connection {
        let make = &self.make;
        self.connections.entry(number).or_insert_with(|| Connection {
            tamper: make(number),
            said: 0,
            came: 0,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            ending: None,
            hung_up: false,
            left: false,
            spare: 0,
            receive_len: 0,
            filled: BTreeMap::new(),
        })
    }

    fn send(&mut self, number: usize, bytes: &[u8], token: Option<Token>) -> Result<u64, Full> {
        let now = self.rig.now();
        let connection = self.connection(number);
        let heard = connection.tamper.hears(now, connection.said, bytes.to_vec());
        connection.said += 1;
        connection.says(now, heard.answers);
        connection.ends(now, heard.ends);
        let mut token = token;
        let mut last = connection.under_way.back().map_or(now, |(due, ..)| *due);
        for (late, bytes) in heard.gets {
            last = last.max(now.saturating_add(late));
            connection.under_way.push_back((last, bytes, token.take()));
        }
        self.deliver(number)
    }

    /// Hands the subject what is due.
    fn deliver(&mut self, number: usize) -> Result<u64, Full> {
        let now = self.rig.now();
        let mut ticket = u64::MAX;
        while let Some((_, bytes, token)) =
            self.connection(number).under_way.front().filter(|(due, ..)| *due <= now).cloned()
        {
            ticket = self.rig.order(number, Order::Send(&bytes, token))?;
            self.connection(number).under_way.pop_front();
        }
        Ok(ticket)
    }

    /// Takes in what the script's device has to say.
    fn take(&mut self, number: usize) {
        self.hang_up(number);
        while let Some((at, news)) = self.rig.news(number) {
            let connection = self.connection(number);
            let last = connection.waiting.back().map_or(at, |(due, _)| at.max(*due));
            match news {
                _ if connection.hung_up => {}
                News::Message(bytes, token) => {
                    let index = connection.came;
                    connection.came += 1;
                    let all = connection.tamper.says(at, index, bytes);
                    let mut token = connection.tamper.invalidates(token);
                    connection.spare += all.len().saturating_sub(1);
                    let lost = all.is_empty().then_some(connection.receive_len).filter(|_| index > 0);
                    for (late, bytes) in all {
                        let due = last.max(at.saturating_add(late));
                        connection.waiting.push_back((due, News::Message(bytes, token.take())));
                    }
                    if let Some(len) = lost {
                        // The script knows of no message that has used it.
                        let posted = self.rig.order(number, Order::Receive(len));
                        debug_assert!(posted.is_ok(), "one is free");
                    }
                }
                News::Connected(limits) => {
                    let up = connection.tamper.up(at);
                    let news = match up.refused {
                        true => News::ConnectFailed(ConnectReason::Refused),
                        false => News::Connected(limits),
                    };
                    connection.waiting.push_back((last, news));
                    connection.says(at, up.says);
                    connection.ends(at, up.ends);
                }
                News::Disconnected if connection.tamper.stays_up() && !connection.left => {}
                News::Disconnected => {
                    let late = if connection.left { Duration::ZERO } else { connection.tamper.ends_late() };
                    connection.waiting.push_back((last.saturating_add(late), News::Disconnected));
                }
                other => connection.waiting.push_back((at.max(last), other)),
            }
        }
    }

    /// Ends the connection for the subject when it is time.
    fn hang_up(&mut self, number: usize) {
        let now = self.rig.now();
        let connection = self.connection(number);
        if connection.hung_up || connection.ending.is_none_or(|at| at > now) {
            return;
        }
        connection.hung_up = true;
        connection.waiting.push_back((now, News::Disconnected));
    }
}

impl Connection {
    /// The script gets these.
    fn says(&mut self, now: Instant, all: Vec<Later>) {
        self.spare += all.len();
        for (late, bytes) in all {
            let due = now.saturating_add(late);
            let place = self.waiting.iter().position(|(at, _)| *at > due).unwrap_or(self.waiting.len());
            self.waiting.insert(place, (due, News::Message(bytes, None)));
        }
    }

    fn ends(&mut self, now: Instant, after: Option<Duration>) {
        if self.ending.is_none() {
            self.ending = after.map(|after| now.saturating_add(after));
        }
    }

    /// When something happens here next.
    fn due(&self) -> Option<Instant> {
        let ending = self.ending.filter(|_| !self.hung_up);
        let waiting = self.waiting.front().map(|(due, _)| *due);
        let under_way = self.under_way.front().map(|(due, ..)| *due);
        [ending, waiting, under_way].into_iter().flatten().min()
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
        let (number, mut opening) = (self.opened, opening.clone());
        self.opened += 1;
        let tamper = &self.connection(number).tamper;
        opening.private_data = opening.private_data.map(|bytes| tamper.hears_private(bytes));
        opening.read_depth = tamper.read_depth(opening.read_depth);
        self.rig.open(&opening)
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
            Order::Receive(len) => {
                self.connection(connection).receive_len = len;
                self.rig.order(connection, order)
            }
            Order::Disconnect => {
                self.connection(connection).left = true;
                self.rig.order(connection, order)
            }
            other => self.rig.order(connection, other),
        }
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        let buffer = self.rig.allocate(connection, bytes)?;
        self.connection(connection).filled.insert(buffer, bytes.to_vec());
        Ok(buffer)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        let bytes = self.rig.contents(connection, buffer);
        let Connection { tamper, filled, .. } = self.connection(connection);
        tamper.wrote(filled.get(&buffer).map_or(&[], Vec::as_slice), bytes)
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        self.connection(connection).filled.insert(buffer, bytes.to_vec());
        self.rig.fill(connection, buffer, bytes);
    }

    fn cut(&mut self, connection: usize) -> Result<(), Unable> {
        self.connection(connection).left = true;
        self.rig.cut(connection)
    }

    fn private_data(&mut self, connection: usize) -> Option<Vec<u8>> {
        let bytes = self.rig.private_data(connection);
        self.connection(connection).tamper.private(bytes)
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
        let numbers: Vec<_> = self.connections.keys().copied().collect();
        for number in numbers {
            if self.deliver(number).is_err() {
                self.connection(number).under_way.clear();
            }
        }
        let due = self.connections.values().filter_map(Connection::due).min();
        self.rig.pass(due.map_or(limit, |due| due.min(limit)));
    }

    fn device_lacks(&self, ability: Ability) -> Option<String> {
        self.rig.device_lacks(ability)
    }

    fn seen(&mut self) -> Vec<Event> {
        self.rig.seen()
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        let now = self.rig.now();
        self.rig.upper(connection)?;
        let told = self.rig.look(connection).map(|upper| upper.told().to_vec()).unwrap_or_default();
        self.told = self.connection(connection).tamper.told(now, &told);
        self.hand = connection;
        Some(self)
    }
}
