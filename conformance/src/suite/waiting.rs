//! What a play waits for, and how long at most.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::catalogue::{Case, Need};

/// How long the script waits for a credit, and for the answer to a Negotiate Request.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The same of a subject that has once let that time pass without a credit: see [`Options::no_credits`](super::Options).
pub const LITTLE_PATIENCE: Duration = Duration::from_secs(2);
/// `goes on`: a probe gets a message within this time.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// `quiet`: for so long.
pub(super) const QUIET: Duration = Duration::from_secs(3);
/// A usual connection, which shows whether a case could judge, does what it does within this time.
pub(super) const USUAL_WITHIN: Duration = Duration::from_secs(12);

/// What [`Play::wait_for`](super::Play::wait_for) waits for where it is the end of a connection.
pub(super) const END: &str = "the end of the connection";

/// The time that a case takes at most with a subject that does nothing: what its steps need in any case, one wait more, and a
/// look whether a usual connection does it. A message or a credit that does not come ends the case.
#[must_use]
pub fn longest_wait(case: &Case) -> Duration {
    // The message of an upper layer may wait for a credit of the script first.
    let upper = [Need::Answers, Need::Rdma, Need::Smb2].iter().any(|need| case.needs.contains(need));
    case.time + PATIENCE + USUAL_WITHIN + if upper { ANSWER_WITHIN } else { Duration::ZERO }
}

/// What a play waits for now, for whoever looks on from another thread.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<&'static str>>);

impl Watch {
    /// In words that go behind "waits for"; empty before the first wait.
    #[must_use]
    pub fn waits_for(&self) -> &'static str {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, what: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

/// A wait that the end of the play's time has cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// What was waited for.
    pub(super) what: &'static str,
    /// For how long.
    pub(super) waited: Duration,
    /// For how long it should have been.
    pub(super) whole: Duration,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, waited, whole } = self;
        write!(f, "it had waited for {what} for {} of {} s", round(*waited), round(*whole))
    }
}

/// Seconds, to tenths.
fn round(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
