//! Initiators that ask for more connections than the cases do: one that connects again by itself when a connection ends, and one that
//! withdraws a request and makes another. What a case finds is of the connections that it has asked for. Each has one connection at a
//! time: to be made to connect, it is ended before.

use std::collections::VecDeque;

use smbd_conformance::catalogue::{Catalogue, Need, UnderTest};
use smbd_conformance::suite::rig::sim::SimSmb2;
use smbd_conformance::suite::rig::{
    Ability, Full, News, Opening, Order, Rig, Settings, Target, Unable, UpperHand,
};
use smbd_conformance::suite::trace::Event;
use smbd_conformance::suite::{
    Choice, Entry, Options, Outcome, Play, Played, Stop, Upper, Uppers, cases, detect, play,
};
use smbd_core::error::ConnectReason;
use smbd_core::{Instant, Params};

/// What an initiator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// When a connection ends it asks for another, and ends that soon, because nobody uses it any more.
    ConnectsAgain,
    /// Its first request for each connection comes to nothing.
    Withdraws,
    /// The same, and no other one follows.
    GivesUp,
    /// It crashes when it is ended while it waits for a Negotiate Response.
    IsFragile,
}

/// An SMB2 client with a habit.
#[derive(Clone, Copy)]
struct Restless(Habit);

impl Target for Restless {
    fn name(&self) -> String {
        "restless".into()
    }

    fn variants(&self) -> Vec<String> {
        vec!["as it is".into()]
    }

    fn persists(&self) -> bool {
        true
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        SimSmb2.lacks(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let rig = SimSmb2.rig(variant, role, settings)?;
        let habit = self.0;
        Ok(Box::new(RestlessRig { rig, habit, requests: 0, has_crashed: false, connections: Vec::new() }))
    }
}

#[derive(Default)]
struct Connection {
    news: VecDeque<(Instant, News)>,
    /// Nobody has asked for it.
    is_uninvited: bool,
    /// Messages that came on it, and that were sent.
    came: u32,
    said: u32,
    is_over: bool,
    accepted: u32,
}

struct RestlessRig {
    rig: Box<dyn Rig>,
    habit: Habit,
    /// Requests that are there before the next connection is asked for.
    requests: usize,
    has_crashed: bool,
    connections: Vec<Connection>,
}

impl RestlessRig {
    fn ends(&mut self, connection: usize) {
        let Connection { is_over, is_uninvited, .. } = &mut self.connections[connection];
        if !std::mem::replace(is_over, true) && !*is_uninvited && self.habit == Habit::ConnectsAgain {
            self.requests += 1;
        }
    }
}

impl Rig for RestlessRig {
    fn now(&self) -> Instant {
        self.rig.now()
    }

    fn turn_away(&mut self) -> Result<(), Unable> {
        for connection in 0..self.connections.len() {
            let Connection { came, said, is_over, .. } = self.connections[connection];
            self.has_crashed |= self.habit == Habit::IsFragile && came == 1 && said == 0 && !is_over;
            if self.connections[connection].came > 0 && !self.connections[connection].is_over {
                self.order(connection, Order::Disconnect).map_err(|full| Unable::Broken(full.0.into()))?;
            }
        }
        self.requests = 0;
        Ok(())
    }

    fn keeps_connections(&self) -> bool {
        false
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        if self.has_crashed {
            return Err(Unable::Broken("it has crashed".into()));
        }
        // The one that was asked for then stays behind.
        let is_uninvited = self.requests > 0;
        self.connections.push(Connection { is_uninvited, ..Connection::default() });
        self.rig.open(opening)
    }

    fn await_request(&mut self, connection: usize) -> Result<bool, Unable> {
        self.rig.await_request(connection)
    }

    fn await_another(&mut self, _: usize) -> Result<bool, Unable> {
        Ok(self.habit == Habit::Withdraws)
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        match order {
            Order::Accept => {
                let at = &mut self.connections[connection];
                at.accepted += 1;
                at.is_over = false;
                // The simulator's connection is the last one.
                if at.accepted > 1 { Ok(u64::MAX) } else { self.rig.order(connection, order) }
            }
            Order::Disconnect => {
                self.ends(connection);
                self.rig.order(connection, order)
            }
            other => {
                self.connections[connection].said += u32::from(matches!(other, Order::Send(..)));
                self.rig.order(connection, other)
            }
        }
    }

    fn news(&mut self, connection: usize) -> Option<(Instant, News)> {
        while let Some(news) = self.rig.news(connection) {
            self.connections[connection].news.push_back(news);
        }
        let withdraws = matches!(self.habit, Habit::Withdraws | Habit::GivesUp);
        let at = &mut self.connections[connection];
        if withdraws && at.accepted == 1 {
            // What comes is of the request behind it.
            let when = at.news.front().filter(|_| !at.is_over)?.0;
            at.is_over = true;
            return Some((when, News::ConnectFailed(ConnectReason::Refused)));
        }
        let (when, news) = at.news.pop_front().filter(|_| !(at.is_uninvited && at.is_over))?;
        at.came += u32::from(matches!(news, News::Message(..)));
        if at.is_uninvited && at.came > 2 || news == News::Disconnected {
            self.ends(connection);
            return Some((when, News::Disconnected));
        }
        Some((when, news))
    }

    fn pass(&mut self, limit: Instant) {
        self.rig.pass(limit);
    }

    fn configure(
        &mut self,
        settings: &dyn Fn(&mut Params),
    ) -> Result<Result<(), smbd_core::ConfigError>, Unable> {
        self.rig.configure(settings)
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
        self.rig.cut(connection)
    }

    fn device_lacks(&self, ability: Ability) -> Option<String> {
        self.rig.device_lacks(ability)
    }

    fn speaks(&self) -> bool {
        self.rig.speaks()
    }

    fn seen(&mut self) -> Vec<Event> {
        self.rig.seen()
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.rig.upper(connection)
    }
}

fn played(habit: Habit, case: &str) -> Played {
    played_by(habit, cases::find(case).unwrap())
}

fn played_by(habit: Habit, entry: &Entry) -> Played {
    let upper = detect(&mut SimSmb2, UnderTest::Initiator, &Choice { smb2: true, ..Choice::default() });
    assert!(matches!(upper, Upper::Client(_)), "{upper}");
    let uppers = Uppers::default().with(UnderTest::Initiator, upper);
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(entry.name).unwrap(), entry);
    let options = Options { uppers, ..Options::default() };
    play(&mut Restless(habit), 0, case, UnderTest::Initiator, &options)
}

/// Cases that make several connections, one after the other.
const SEVERAL: [&str; 3] = [
    "negotiate::a_new_connection_starts_from_nothing",
    "negotiate::preferred_send_size_of_the_response_at_its_boundaries",
    "limits::noise_ends_a_connection_and_nothing_else",
];

fn none_fails(habit: Habit) {
    for case in SEVERAL {
        let played = played(habit, case);
        assert_eq!(played.outcome, Outcome::Passed, "{case}: {:?}\n{}", played.findings, played.trace);
    }
}

#[test]
fn what_an_initiator_asks_for_by_itself_is_not_the_connection_that_a_case_asked_for() {
    none_fails(Habit::ConnectsAgain);
}

#[test]
fn a_request_that_was_withdrawn_is_not_the_connection_that_a_case_asked_for() {
    none_fails(Habit::Withdraws);
}

#[test]
fn an_initiator_that_withdraws_its_request_for_good_is_found() {
    let played = played(Habit::GivesUp, "negotiate::the_request_comes_first_and_alone");
    assert_eq!(played.outcome, Outcome::Failed, "{}", played.trace);
    let texts: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts, ["the transport connection failed: refused"]);
}

#[test]
fn no_initiator_is_ended_while_it_waits_for_a_response_that_no_case_keeps_from_it() {
    none_fails(Habit::IsFragile);
    // Nobody has asked for the answer that is waited for: usual connections are looked at.
    let script: fn(&mut Play) -> Result<(), Stop> = |play| {
        let mut peer = play.established()?;
        let question = peer.message(1, 100)?;
        peer.answered("1.5-01", &question).map(|_| ())
    };
    let entry = Entry { name: "negotiate::sizes_hold_until_the_end", play: script, settings: None };
    let played = played_by(Habit::IsFragile, &entry);
    assert_eq!(played.outcome, Outcome::Failed, "{}", played.trace);
    let texts: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
    assert!(matches!(texts[..], [text] if text.starts_with("a message should come ")), "{texts:?}");
}
