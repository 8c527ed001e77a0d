//! Idle timer, probes, and the flag that goes with them.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use smbd_core::{Config, Instant};

use super::fingerprint::distance;

/// Answer timeout of a probe on a connection without keepalive.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Keepalive {
    times: Option<smbd_core::Keepalive>,
    alive: Option<Instant>,
    /// When the idle timer expired, and whether the flag has left since.
    asked: Option<(Instant, bool)>,
    probe: Option<Probe>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    commanded: Instant,
    flagged: Option<Instant>,
    /// What there is to tell.
    answer: Option<Option<Duration>>,
}

impl Keepalive {
    pub(super) fn new(config: &Config) -> Self {
        Self { times: config.keepalive, alive: None, asked: None, probe: None }
    }

    /// A keepalive response, also the first.
    pub(super) fn alive(&mut self, now: Instant) {
        self.alive = Some(now);
        self.asked = None;
        if let Some(Probe { flagged: Some(at), answer: answer @ None, .. }) = &mut self.probe {
            *answer = Some(Some(now.saturating_since(*at)));
        }
    }

    /// `can_answer`: the peer is not asked while it has no credit and can get none.
    pub(super) fn on_timeout(&mut self, now: Instant, can_answer: bool) {
        if let (true, Some(times), Some(alive), None) = (can_answer, self.times, self.alive, self.asked)
            && now >= alive.saturating_add(times.interval)
        {
            self.asked = Some((now, false));
        }
        let timeout = self.times.map_or(PROBE_TIMEOUT, |t| t.answer_timeout);
        if let Some(Probe { commanded, answer: answer @ None, .. }) = &mut self.probe
            && now >= commanded.saturating_add(timeout)
        {
            *answer = Some(None);
        }
    }

    pub(super) fn on_probe(&mut self, now: Instant) -> bool {
        let free = self.probe.is_none();
        self.probe = Some(Probe { commanded: now, flagged: None, answer: None });
        free
    }

    pub(super) const fn probing(&self) -> bool {
        self.probe.is_some()
    }

    /// The result of a probe that the upper layer is told; `Err` if it is not what it should be.
    pub(super) fn on_probed(&mut self, told: Option<Duration>) -> Result<(), Option<Duration>> {
        let due = self.probe.take().and_then(|probe| probe.answer);
        match due {
            Some(answer) if answer == told => Ok(()),
            other => Err(other.flatten()),
        }
    }

    /// The probe ended with the connection.
    pub(super) const fn on_probe_aborted(&mut self) -> bool {
        self.probe.take().is_some()
    }

    /// Whether the next message asks for an answer.
    pub(super) const fn wants_flag(&self) -> bool {
        matches!(self.asked, Some((_, false)))
            || matches!(self.probe, Some(Probe { flagged: None, answer: None, .. }))
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) const fn on_flag_sent(&mut self, now: Instant) {
        if let Some((_, sent)) = &mut self.asked {
            *sent = true;
        }
        if let Some(Probe { flagged: flagged @ None, answer: None, .. }) = &mut self.probe {
            *flagged = Some(now);
        }
    }

    /// The latest time at which something has to happen about silence.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let times = self.times?;
        match self.asked {
            Some((at, _)) => Some(at.saturating_add(times.answer_timeout)),
            None => Some(self.alive?.saturating_add(times.interval)),
        }
    }

    /// What can influence a verdict, times by their distance from `now`.
    pub(super) fn fingerprint(&self, now: Instant, into: &mut impl Hasher) {
        if self.times.is_some() {
            self.alive.map(|at| distance(at, now)).hash(into);
        }
        self.asked.map(|(at, sent)| (distance(at, now), sent)).hash(into);
        self.probe
            .map(|p| (distance(p.commanded, now), p.flagged.map(|at| distance(at, now)), p.answer))
            .hash(into);
    }

    /// Whether the peer had its time to answer.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let (Some(times), Some((asked, _))) = (self.times, self.asked) else { return false };
        now >= asked.saturating_add(times.answer_timeout)
    }
}
