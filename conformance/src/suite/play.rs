//! A play: one case on one rig, its observations, and its findings.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_core::error::ConnectReason;
use smbd_core::{Access, ConfigError, Instant, Params, RdmaVerb};

use super::about::About;
use super::basis::Basis;
use super::outcome::{Finding, Record, Stop};
use super::rig::{Ability, Opening, Order, Rig};
use super::state::{Link, State};
use super::trace::{By, Packet, What};
use super::upper::Upper;
use super::waiting::{Cut, Watch};
use crate::catalogue::UnderTest;

/// What ends a case whose time is over; the play has its own words for that.
const LATE: &str = "the time is over";

/// One case being played.
pub struct Play {
    pub(super) rig: Box<dyn Rig>,
    pub(super) role: UnderTest,
    pub(super) states: Vec<State>,
    pub(super) record: Record,
    listed: BTreeSet<String>,
    /// Its name.
    pub(super) case: String,
    /// Nothing is judged: what the case takes for granted is looked at.
    pub(super) trial: Option<String>,
    /// What was looked at, and what was wrong with it.
    pub(super) tried: Vec<(Basis, Option<String>)>,
    /// What the script said that a finding is about, if that is not the last it said.
    pub(super) blamed: Option<Packet>,
    pub(super) upper: Upper,
    /// When it has to be over.
    pub(super) limit: Option<Instant>,
    /// The first wait that the limit has cut short.
    pub(super) cut: Option<Cut>,
    pub(super) watch: Watch,
    /// As [`Options::no_credits`](super::Options).
    pub(super) no_credits: Option<String>,
}

impl std::fmt::Debug for Play {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Play").field("role", &self.role).finish_non_exhaustive()
    }
}

impl Play {
    pub(super) fn new(rig: Box<dyn Rig>, role: UnderTest, listed: BTreeSet<String>, upper: Upper) -> Self {
        Self {
            rig,
            role,
            states: Vec::new(),
            record: Record::default(),
            listed,
            case: String::new(),
            trial: None,
            tried: Vec::new(),
            blamed: None,
            upper,
            limit: None,
            cut: None,
            watch: Watch::default(),
            no_credits: None,
        }
    }

    /// The same with the name of its case.
    pub(super) fn of(self, case: &str) -> Self {
        Self { case: case.into(), ..self }
    }

    /// Whether this is the case of that name.
    pub(super) fn is(&self, case: &str) -> bool {
        self.case == case
    }

    /// From now on it has so much time. When that is over nothing is waited for, done or found any more.
    pub(super) fn end_after(&mut self, time: Duration) {
        self.limit = Some(self.now().saturating_add(time));
    }

    /// Whether its time is over.
    pub(super) fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.now() >= limit)
    }

    /// Whether the subject's upper layer answers messages.
    pub(super) const fn has_answers(&self) -> bool {
        !matches!(self.upper, Upper::Silent(_))
    }

    /// The rights of memory that the subject's upper layer offers for this verb of the script: an SMB2 client only those.
    #[must_use]
    pub const fn offered_for(&self, verb: RdmaVerb) -> Access {
        match (&self.upper, verb) {
            (Upper::Client(_), RdmaVerb::Read) => Access::Read,
            (Upper::Client(_), RdmaVerb::Write) => Access::Write,
            _ => Access::ReadWrite,
        }
    }

    /// Which side is under test: never [`UnderTest::Both`].
    #[must_use]
    pub const fn role(&self) -> UnderTest {
        self.role
    }

    /// Whether the subject is the acceptor.
    #[must_use]
    pub fn subject_accepts(&self) -> bool {
        self.role == UnderTest::Acceptor
    }

    /// Whether the subject's upper layer may say something that no case made it say.
    #[must_use]
    pub fn subject_speaks(&self) -> bool {
        self.rig.speaks()
    }

    /// Whether a connection of the subject stays when the case makes another.
    #[must_use]
    pub fn keeps_connections(&self) -> bool {
        self.rig.keeps_connections()
    }

    /// For a case of several connections at the same time.
    ///
    /// # Errors
    /// The subject has one: not applicable.
    pub fn needs_several_connections(&self) -> Result<(), Stop> {
        if self.keeps_connections() {
            return Ok(());
        }
        Err(Stop::NotApplicable("the subject is made to connect once at a time".into()))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.rig.now()
    }

    /// Whether time is real: where it is, what is done often in virtual time is done less often.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.rig.is_real()
    }

    /// Begins a transport connection and does not wait for it.
    ///
    /// # Errors
    /// The target cannot do that.
    pub fn open(&mut self, opening: &Opening) -> Result<usize, Stop> {
        let id = self.prepare(opening)?;
        self.go(id)?;
        Ok(id)
    }

    /// Changes the subject's settings for the connections that follow; what it says to them.
    ///
    /// # Errors
    /// They cannot be changed on this target.
    pub fn configure(&mut self, settings: impl Fn(&mut Params)) -> Result<Result<(), ConfigError>, Stop> {
        Ok(self.rig.configure(&settings)?)
    }

    /// Gets an end for a connection ready, its receive posted. The subject, if it is the one that connects, begins; the
    /// script does not answer yet.
    ///
    /// # Errors
    /// The target cannot do that.
    pub fn prepare(&mut self, opening: &Opening) -> Result<usize, Stop> {
        if self.is_late() {
            return Err(Stop::Broken(LATE.into()));
        }
        self.watch.set("the end of the connection before");
        self.rig.turn_away()?;
        let id = self.rig.open(opening)?;
        self.states.push(State::new(opening, self.role, &self.upper));
        let by = if self.subject_accepts() { By::Script } else { By::Subject };
        self.note(id, by, What::Opening);
        // A script that posts none has the subject's first message fail.
        self.post_receives(id, opening.receives.min(1).into(), super::state::NEGOTIATION_LEN)?;
        Ok(id)
    }

    /// Connects a connection that was prepared, or accepts it.
    ///
    /// # Errors
    /// The target cannot do that.
    pub fn go(&mut self, id: usize) -> Result<(), Stop> {
        if self.subject_accepts() {
            return self.order(id, Order::Connect).map(|_| ());
        }
        self.watch.set("a connection request");
        if self.rig.await_request(id)? {
            self.order(id, Order::Accept)?;
        }
        Ok(())
    }

    /// Whether the devices can do something, asked when there is a connection. If not, the recording says why, and the case
    /// does without.
    #[must_use]
    pub fn can(&mut self, ability: Ability) -> bool {
        let why = self.rig.device_lacks(ability);
        if let Some(why) = &why {
            self.step(why);
        }
        why.is_none()
    }

    /// The same for what the case is nothing without.
    ///
    /// # Errors
    /// They cannot.
    pub fn needs(&mut self, ability: Ability) -> Result<(), Stop> {
        self.rig.device_lacks(ability).map_or(Ok(()), |why| Err(Stop::NotApplicable(why)))
    }

    /// Why the transport connection did not come up; `None` if it did, or nothing is known yet.
    #[must_use]
    pub fn connect_failure(&self, id: usize) -> Option<ConnectReason> {
        match self.states.get(id)?.link {
            Link::Failed(reason) => Some(reason),
            Link::Opening | Link::Up | Link::Down => None,
        }
    }

    /// Asserts something about statements (`"2.2.2-13 +3.1.5.3-11"`); the case goes on in any case. A statement with a sign
    /// is shown if it holds, and not broken if it does not. The text says what was expected and what came.
    pub fn check(&mut self, statements: &str, holds: bool, text: impl FnOnce() -> String) -> bool {
        self.judge(None, statements, holds, text);
        holds
    }

    /// The same for what a case cannot go on without.
    ///
    /// # Errors
    /// It does not hold.
    pub fn require(
        &mut self,
        statements: &str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        if self.check(statements, holds, text) { Ok(()) } else { Err(Stop::Failed) }
    }

    /// Writes into the recording where the case is.
    pub fn step(&mut self, text: impl Into<String>) {
        let id = self.states.len().saturating_sub(1);
        self.note(id, By::Script, What::Step { text: text.into() });
    }

    /// A requirement of a shared part: shown only for statements that the case lists. What does not hold is broken, whatever
    /// the case is about.
    pub(super) fn shared(
        &mut self,
        id: usize,
        statements: &str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) -> bool {
        if !holds {
            self.judge(Some(id), statements, false, text);
        } else if self.judges() {
            let listed = About(statements).shown().filter(|id| self.listed.contains(*id));
            self.record.tally(listed, true);
        }
        holds
    }

    /// Whether the case lists one of the statements that this may break.
    pub(super) fn is_about(&self, statements: &str) -> bool {
        About(statements).broken(self.role).any(|id| self.listed.contains(id))
    }

    /// As [`require`](Self::require), on a connection.
    pub(super) fn about(
        &mut self,
        id: usize,
        statements: &str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        self.judge(Some(id), statements, holds, text);
        if holds { Ok(()) } else { Err(Stop::Failed) }
    }

    pub(super) fn judge(
        &mut self,
        id: Option<usize>,
        statements: &str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) {
        if let Some(wrong) = &mut self.trial {
            if !holds && wrong.is_empty() {
                *wrong = text();
            }
            return;
        }
        if !self.judges() {
            return;
        }
        let about = About(statements);
        if holds {
            return self.record.tally(about.shown(), true);
        }
        self.record.tally(about.broken(self.role).chain(about.not_done()), false);
        let is_fault = about.broken(self.role).next().is_some() || about.not_done().next().is_none();
        let named = if is_fault { about.broken(self.role).collect() } else { about.not_done().collect() };
        self.found(id, named, text(), is_fault);
    }

    /// Whether what is found counts: it does not when the time is over, or while the case looks at what it takes for granted.
    pub(super) fn judges(&self) -> bool {
        self.trial.is_none() && !self.is_late()
    }

    /// Most findings of one play: what is wrong with each of thousands of messages is known after a few.
    const FINDINGS_MAX: usize = 50;

    /// Writes a finding down: a fault, or a fact that is none.
    fn found(&mut self, id: Option<usize>, statements: Vec<&str>, text: String, is_fault: bool) {
        let so_far = if is_fault { &self.record.findings } else { &self.record.facts };
        let index = so_far.len();
        if index >= Self::FINDINGS_MAX {
            return;
        }
        let connection = id.or_else(|| self.states.len().checked_sub(1));
        let last = |by| connection.and_then(|id| self.record.trace.last_message(id, by)).cloned();
        let finding = Finding {
            statements: statements.into_iter().map(Into::into).collect(),
            text,
            at: self.now().as_nanos(),
            connection,
            sent: self.blamed.clone().or_else(|| last(By::Script)),
            came: last(By::Subject),
            known: None,
        };
        if is_fault {
            self.record.findings.push(finding);
            self.note(connection.unwrap_or_default(), By::Script, What::Finding { index });
        } else {
            self.record.facts.push(finding);
        }
    }

    pub(super) fn note(&mut self, id: usize, by: By, what: What) {
        let now = self.now();
        self.record.trace.push(now, id, by, what);
    }

    pub(super) fn order(&mut self, id: usize, order: Order<'_>) -> Result<u64, Stop> {
        if self.is_late() {
            return Err(Stop::Broken(LATE.into()));
        }
        self.rig.order(id, order).map_err(|full| Stop::Broken(format!("no room for more {}", full.0)))
    }

    pub(super) fn post_receives(&mut self, id: usize, count: u32, len: u32) -> Result<(), Stop> {
        // Some devices have no receive of no bytes, whatever a case announces.
        let len = len.min(self.states[id].receive_len_max).max(1);
        for _ in 0..count {
            self.order(id, Order::Receive(len))?;
        }
        self.states[id].posted += count;
        if count > 0 {
            self.note(id, By::Script, What::Receives { count, len });
        }
        Ok(())
    }
}
