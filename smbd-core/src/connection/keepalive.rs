//! Idle timer and probes (3.1.2.2, 3.1.6.2).

use core::time::Duration;

use crate::error::ProbeError;
use crate::{Instant, Keepalive};

/// Connection.KeepaliveRequested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Requested {
    None,
    Pending { deadline: Instant },
    Sent { deadline: Instant },
}

/// A [`Keepalive`] in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    interval: u64,
    answer_timeout: u64,
}

/// The idle timer. Only it asks the peer for an answer; an answer never does (KA-1).
#[derive(Clone, Debug)]
pub(crate) struct IdleTimer {
    times: Option<Times>,
    requested: Requested,
    /// When the last keepalive response came; the deadline is worked out when somebody asks.
    alive: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    NotYet,
    /// A flagged message is due.
    Ask,
    /// The peer did not answer.
    GiveUp,
}

impl IdleTimer {
    pub(crate) fn new(keepalive: Option<Keepalive>, now: Instant) -> Self {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let times = keepalive.map(|Keepalive { interval, answer_timeout }| Times {
            interval: nanos(interval),
            answer_timeout: nanos(answer_timeout),
        });
        Self { times, requested: Requested::None, alive: now }
    }

    /// A valid message came, or the connection was established: all is well for another interval (3.1.5.5).
    pub(crate) const fn restart(&mut self, now: Instant) {
        self.requested = Requested::None;
        self.alive = now;
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.requested {
            Requested::None => self.times.map(|times| self.alive.saturating_add_nanos(times.interval)),
            Requested::Pending { deadline } | Requested::Sent { deadline } => Some(deadline),
        }
    }

    /// KA-2: the answer timeout runs from here on, whether the probe can be sent or not.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> Expiry {
        let (Some(times), Some(deadline)) = (self.times, self.deadline()) else { return Expiry::NotYet };
        if now < deadline {
            return Expiry::NotYet;
        }
        if self.requested != Requested::None {
            return Expiry::GiveUp;
        }
        self.requested = Requested::Pending { deadline: now.saturating_add_nanos(times.answer_timeout) };
        Expiry::Ask
    }

    pub(crate) const fn is_pending(&self) -> bool {
        matches!(self.requested, Requested::Pending { .. })
    }

    /// A flagged message leaves.
    pub(crate) const fn on_flag_sent(&mut self) {
        if let Requested::Pending { deadline } = self.requested {
            self.requested = Requested::Sent { deadline };
        }
    }

    pub(crate) fn fingerprint(&self, left: impl Fn(Instant) -> u64) -> (u8, Option<u64>) {
        let requested = match self.requested {
            Requested::None => 0,
            Requested::Pending { .. } => 1,
            Requested::Sent { .. } => 2,
        };
        (requested, self.deadline().map(left))
    }
}

/// A probe of the upper layer's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Idle,
    Pending { deadline: Instant },
    Sent { at: Instant, deadline: Instant },
    Done(Result<Duration, ProbeError>),
}

impl Probe {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Pending { deadline } | Self::Sent { deadline, .. } => Some(*deadline),
            Self::Idle | Self::Done(_) => None,
        }
    }

    pub(crate) const fn is_pending(&self) -> bool {
        matches!(self, Self::Pending { .. })
    }

    pub(crate) const fn is_sent(&self) -> bool {
        matches!(self, Self::Sent { .. })
    }

    /// A flagged message leaves.
    pub(crate) const fn on_flag_sent(&mut self, at: Instant) {
        if let Self::Pending { deadline } = *self {
            *self = Self::Sent { at, deadline };
        }
    }

    /// Any message is an answer. True if the probe is over.
    #[must_use]
    pub(crate) const fn on_receipt(&mut self, now: Instant) -> bool {
        let Self::Sent { at, .. } = *self else { return false };
        *self = Self::Done(Ok(now.saturating_since(at)));
        true
    }

    /// True if the probe is over.
    #[must_use]
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        let over = self.deadline().is_some_and(|deadline| deadline <= now);
        if over {
            *self = Self::Done(Err(ProbeError::Unanswered));
        }
        over
    }
}
