//! What a run has found out about the peer that is not about one statement.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::suite::PATIENCE;
use crate::suite::outcome::{Finding, Outcome, Played, Unjudged};
use crate::suite::trace::{By, Event, Packet, What};

/// How many of the script's last messages are told of a peer that is gone.
const MESSAGES: usize = 3;
/// And how many of the events behind them.
const EVENTS: usize = 10;

/// A play: its case, the side under test, the variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Which {
    /// Name of the case.
    pub case: String,
    /// Which side was under test.
    pub role: String,
    /// Which variant of the target.
    pub variant: String,
}

impl Which {
    /// This one.
    #[must_use]
    pub fn of(played: &Played) -> Self {
        let Played { case, role, variant, .. } = played;
        Self { case: case.clone(), role: role.clone(), variant: variant.clone() }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.case, self.role, self.variant)
    }
}

/// Something about the peer, told once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fact", rename_all = "kebab-case")]
pub enum Fact {
    /// It gave no credit for [`PATIENCE`]; cases behind this one did not wait for credits that long.
    NoCredits {
        /// Where that was found out.
        after: Which,
    },
    /// It no longer took connections.
    Gone(Gone),
}

/// A peer that no longer took connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gone {
    /// The last play in which the script said something.
    pub after: Which,
    /// What came of a new connection.
    pub why: String,
    /// The last messages of the script in that play, in order.
    pub sent: Vec<Packet>,
    /// What was seen behind them.
    pub seen: Vec<Event>,
    /// Nanoseconds until it took connections again; `None` if it did not in the time that it was given.
    pub back: Option<u64>,
}

impl Gone {
    /// After this play; `None` if the script said nothing in it.
    #[must_use]
    pub fn after(played: &Played) -> Option<Self> {
        let events: Vec<_> = played.trace.events().collect();
        let said = |event: &Event| match &event.what {
            What::Message(packet) if event.by == By::Script => Some(packet.clone()),
            _ => None,
        };
        let last = events.iter().rposition(|event| said(event).is_some())?;
        let mut sent: Vec<_> = events.iter().rev().filter_map(|event| said(event)).take(MESSAGES).collect();
        sent.reverse();
        let seen = events.iter().skip(last + 1).take(EVENTS).map(|event| (*event).clone()).collect();
        Some(Self { after: Which::of(played), why: String::new(), sent, seen, back: None })
    }
}

impl Fact {
    /// In one sentence, without what it is about.
    #[must_use]
    pub fn in_short(&self) -> String {
        match self {
            Self::NoCredits { after } => {
                format!(
                    "it gave no credit for {} s: {after}; later cases did not wait so long for one",
                    PATIENCE.as_secs()
                )
            }
            Self::Gone(Gone { after, why, back, .. }) => {
                let back = back.map_or_else(
                    || "it did not come back".into(),
                    |nanos| format!("it was back after {:.0} s", Duration::from_nanos(nanos).as_secs_f64()),
                );
                format!("it no longer accepts connections after {after}: {why}; {back}")
            }
        }
    }
}

/// In as many lines as it takes, without a line break at the end.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Gone(Gone { sent, seen, .. }) = self else {
            return write!(f, "the peer: {}", self.in_short());
        };
        write!(f, "PEER GONE: {}", self.in_short())?;
        for packet in sent {
            write!(f, "\n  sent: {packet}\n        {}", packet.hex())?;
        }
        for event in seen {
            write!(f, "\n  then: {event}")?;
        }
        Ok(())
    }
}

impl Played {
    /// The peer no longer accepts connections after this play, for this reason: a finding of its own, about no statement.
    pub fn ended_the_peer(&mut self, why: &str) {
        // The last one on which something was said: later ones may have been refused.
        let said = |event: &&Event| event.by == By::Script && matches!(event.what, What::Message(_));
        let connection = self.trace.events().filter(said).last().map(|event| event.connection);
        let last = |by| self.trace.last_message(connection?, by).cloned();
        self.findings.push(Finding {
            statements: Vec::new(),
            text: format!("the peer no longer accepts connections after this case: {why}"),
            at: self.time,
            connection,
            sent: last(By::Script),
            came: last(By::Subject),
            known: None,
        });
        self.outcome = Outcome::Failed;
    }

    /// The peer was gone before this play began: nothing in it says anything about the peer.
    pub fn met_no_peer(&mut self, why: &str) {
        self.findings.clear();
        self.does_not.clear();
        self.asserted.clear();
        self.outcome = Outcome::NotJudged(Unjudged::alone(format!("the peer was gone before: {why}")));
    }
}
