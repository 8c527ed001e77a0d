//! What a run finds out about the peers it plays with, for the cases behind.

use std::time::Duration;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::suite::report::{Fact, Gone, Which};
use smbd_conformance::suite::{Liveness, Outcome, Played};

use super::stage::{Lost, Place};

/// What is known, by the plays so far.
#[derive(Debug, Default)]
pub struct Peers {
    facts: Vec<Fact>,
    /// The last play in which the script said something, in the form in which it is told if the peer is gone.
    last: Option<Gone>,
}

/// Which play has ended the peer.
#[derive(Debug)]
pub enum Ended {
    /// The one that was looked behind.
    ByThis,
    /// One before it: in the one that was looked behind, the script came to say nothing.
    Before(Which),
}

impl Peers {
    /// All of it, in order.
    pub fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    /// The case in which the peer kept the script waiting for a credit in vain, if it once did.
    pub fn no_credits(&self, role: UnderTest, variant: &str) -> Option<String> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::NoCredits { after } if after.role == role.to_string() && after.variant == variant => {
                Some(after.case.clone())
            }
            _ => None,
        })
    }

    /// Takes in a play.
    pub fn learn(&mut self, role: UnderTest, played: &Played) {
        if played.signs.without_credit && self.no_credits(role, &played.variant).is_none() {
            self.facts.push(Fact::NoCredits { after: Which::of(played) });
        }
    }

    /// The peer lives behind this play.
    pub fn lives_after(&mut self, played: &Played) {
        self.last = Gone::after(played).or(self.last.take());
    }

    /// It does not.
    pub fn is_gone_after(&mut self, played: &Played, why: String) -> Ended {
        let this = Gone::after(played);
        let nothing = || Gone {
            after: Which::of(played),
            why: String::new(),
            sent: Vec::new(),
            seen: Vec::new(),
            back: None,
        };
        let (gone, ended) = match (this, self.last.take()) {
            (None, Some(last)) => {
                let which = last.after.clone();
                (last, Ended::Before(which))
            }
            (this, _) => (this.unwrap_or_else(nothing), Ended::ByThis),
        };
        self.facts.push(Fact::Gone(Gone { why, ..gone }));
        ended
    }

    /// The peer that was last told to be gone is back after this time, or not.
    pub fn is_back(&mut self, after: Option<Duration>) {
        if let Some(Fact::Gone(gone)) = self.facts.last_mut() {
            gone.back = after.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
    }
}

/// Whether the peer, one that was there before the play and should be behind it, is to be looked at.
pub fn may_be_gone((role, _): Place, played: &Played) -> bool {
    let is_played = !matches!(played.outcome, Outcome::NotApplicable(_) | Outcome::LeftOut(_));
    // An initiator has to be made to connect, which the next case does anyway.
    is_played
        && match role {
            UnderTest::Initiator => played.subject_hangs,
            UnderTest::Acceptor | UnderTest::Both => {
                let failed = !matches!(played.outcome, Outcome::Passed);
                failed || played.signs.may_be_gone || played.subject_hangs
            }
        }
}

/// Why a peer that was looked at does not live; `None` if it does.
///
/// # Errors
/// The signal that came.
pub fn trouble(looked: Result<Liveness, Lost>) -> Result<Option<String>, i32> {
    match looked {
        Ok(Liveness::Alive) => Ok(None),
        Ok(other) => Ok(Some(other.to_string())),
        Err(Lost::Signal(signal)) => Err(signal),
        Err(Lost::Hangs) => Ok(Some("a call to the device does not return".into())),
        Err(Lost::Panicked) => Ok(Some("the look at it panicked".into())),
    }
}
