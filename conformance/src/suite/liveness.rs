//! Whether a peer can still be tested: a fresh connection, and whether it comes to a negotiation.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use smbd_core::error::{ConnectError, ConnectReason};
use smbd_tools::tool::{ADVICE_ON_DEVICE, advice_on_connect};

use super::basis::Basis;
use super::outcome::Stop;
use super::play::Play;
use super::rig::{Opening, Target};
use super::script::Terms;
use super::state::{Link, State};
use super::upper::Upper;
use crate::catalogue::UnderTest;

/// A peer that lives negotiates within this time.
const NEGOTIATION_TIME: Duration = Duration::from_secs(12);
/// Bytes of a message that a live peer answers.
const SHORT: usize = 100;
/// Between two looks at a peer that is gone.
const PAUSE: Duration = Duration::from_secs(1);

/// What a look at a peer has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It negotiates.
    Alive,
    /// The transport connection does not come about.
    NoConnection {
        /// What happened.
        why: String,
        /// What to check.
        advice: &'static str,
    },
    /// It was to connect, and did not.
    NoRequest {
        /// What was waited for, and for how long.
        why: String,
    },
    /// There is a transport connection, and nobody negotiates on it.
    NoNegotiation {
        /// What happened.
        why: String,
    },
    /// A connection is negotiated, and the upper layer, which did, answers no message.
    NoAnswer {
        /// What happened.
        why: String,
    },
}

impl Liveness {
    /// Whether it negotiates.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        matches!(self, Self::Alive)
    }
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alive => f.write_str("a new connection is negotiated"),
            Self::NoConnection { why, .. } => write!(f, "no new connection: {why}"),
            Self::NoRequest { why } => f.write_str(why),
            Self::NoNegotiation { why } => write!(f, "a new connection, and no negotiation on it: {why}"),
            Self::NoAnswer { why } => write!(f, "a new connection, and no answer on it: {why}"),
        }
    }
}

/// Looks at a peer: connects to it, or waits until it connects, negotiates, has one message answered if its upper layer does
/// that, and ends the connection.
pub fn is_alive(target: &mut dyn Target, variant: usize, role: UnderTest, upper: &Upper) -> Liveness {
    look(target, (variant, role), upper, Duration::ZERO).0
}

/// Looks again and again, for this time at least, until the peer lives. When it did, in the target's time.
pub fn comes_back(
    target: &mut dyn Target,
    variant: usize,
    role: UnderTest,
    upper: &Upper,
    within: Duration,
) -> Option<Duration> {
    let mut waited = Duration::ZERO;
    while waited < within {
        let (liveness, took) = look(target, (variant, role), upper, PAUSE);
        waited = waited.saturating_add(took);
        if liveness.is_alive() {
            return Some(waited);
        }
        // This host cannot even look.
        if took.is_zero() {
            return None;
        }
    }
    None
}

/// A look behind a pause, and how long both took.
fn look(
    target: &mut dyn Target,
    (variant, role): (usize, UnderTest),
    upper: &Upper,
    pause: Duration,
) -> (Liveness, Duration) {
    let rig = match target.rig(variant, role, None) {
        Ok(rig) => rig,
        Err(unable) => return (device(&unable), Duration::ZERO),
    };
    let mut play = Play::new(rig, role, BTreeSet::new(), upper.clone());
    let began = play.now();
    play.pass(pause);
    let liveness = connected(&mut play, &Opening::default())
        .map_or_else(|trouble| trouble, |id| negotiated(&mut play, id));
    // Whether it lets go of this connection shows with the next one.
    let _ = play.rig.end();
    (liveness, play.now().saturating_since(began))
}

impl Play {
    /// The subject serves a connection, with a message on it answered if its upper layer does that. Looked at once.
    ///
    /// # Errors
    /// It does not: what it does after something else says nothing.
    pub fn lives_before(&mut self) -> Result<(), Stop> {
        let basis = if self.has_answers() { Basis::Echo(SHORT) } else { Basis::Negotiation };
        let Some(wrong) = self.usually(basis) else { return Ok(()) };
        let because = format!("the peer does not serve a usual connection: {wrong}");
        Err(Stop::NotJudged(self.unjudged(basis, because)))
    }

    /// The subject still serves a new connection: one is made, negotiated, and a message on it answered if the upper layer does
    /// that. `what` was done before, on connection `id`.
    ///
    /// # Errors
    /// It does not: a finding about no statement, with the last message of `id`.
    pub fn lives_after(&mut self, id: usize, what: &str) -> Result<(), Stop> {
        let (limit, cut) = (self.limit, self.cut);
        let opening = Opening { receives: 40, receive_len: 1024, send_len: 2048, ..Opening::default() };
        let new = self.states.len();
        let seen = connected(self, &opening).map_or_else(|trouble| trouble, |id| negotiated(self, id));
        // What was waited for in vain has had the time of a look, not that of the case.
        self.limit = limit;
        if !self.is_late() {
            self.cut = cut;
        }
        if self.states.get(new).is_some_and(State::is_up) {
            self.peer(new).disconnect()?;
        }
        self.about(id, "", seen.is_alive(), || {
            format!("the peer serves no new connections any more after {what}: {seen}")
        })
    }
}

/// Something of this host does not do its part.
fn device(unable: &dyn fmt::Display) -> Liveness {
    Liveness::NoConnection { why: unable.to_string(), advice: ADVICE_ON_DEVICE }
}

/// A transport connection, by its number.
fn connected(play: &mut Play, opening: &Opening) -> Result<usize, Liveness> {
    let id = play.prepare(opening).map_err(|stop| device(&stop))?;
    play.go(id).map_err(|stop| Liveness::NoRequest { why: stop.to_string() })?;
    play.await_link(id).map_err(|stop| Liveness::NoRequest { why: stop.to_string() })?;
    let reason = match play.states[id].link {
        Link::Up | Link::Down => return Ok(id),
        Link::Failed(reason) => reason,
        Link::Opening => ConnectReason::TimedOut,
    };
    let why = play.rig.trouble(id).map_or_else(|| reason.to_string(), str::to_owned);
    Err(Liveness::NoConnection { why, advice: advice_on_connect(&ConnectError::Connect(reason)) })
}

/// Whether the peer does its part on this connection: all that a live one does belongs here.
fn negotiated(play: &mut Play, id: usize) -> Liveness {
    play.end_after(NEGOTIATION_TIME);
    if let Err(wrong) = play.on_trial(|play| play.peer(id).negotiate(&Terms::default())) {
        return Liveness::NoNegotiation { why: why(play, wrong) };
    }
    if !play.has_answers() {
        return Liveness::Alive;
    }
    play.end_after(NEGOTIATION_TIME);
    match play.on_trial(|play| play.peer(id).exchange("", 1, SHORT).map(|_| ())) {
        Ok(()) => Liveness::Alive,
        Err(wrong) => Liveness::NoAnswer { why: why(play, wrong) },
    }
}

/// What was not seen.
fn why(play: &Play, wrong: String) -> String {
    if play.is_late() {
        return format!("no message came within {} s", NEGOTIATION_TIME.as_secs());
    }
    wrong
}
