//! The faults of a run: their kinds, their times, and their counts.

use std::time::Duration;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{Instant, WrId};

use super::kind::{FaultKind, KINDS};
use super::seam::Seam;
use crate::fault::Faults;
use crate::{Rng, Side};

/// A fault and when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arranged {
    /// What.
    pub kind: FaultKind,
    /// To whom.
    pub side: Side,
    /// After how many steps of its round, or before which post of its kind.
    pub at: u64,
    /// How long it lasts, if it lasts.
    pub time: Duration,
}

/// The faults of one round, as the world asks for them.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Not happened yet.
    waiting: Vec<Arranged>,
    counts: Vec<u64>,
    posts: [[u64; 4]; 2],
    late: [Duration; 2],
    hangs: [Option<Instant>; 2],
    timers_late: [Duration; 2],
    seam: Seam,
}

impl Schedule {
    /// Nothing is arranged but what goes wrong between device and backend.
    #[must_use]
    pub fn new(seam: Seam) -> Self {
        let mut schedule = Self {
            waiting: Vec::new(),
            counts: vec![0; KINDS],
            posts: [[0; 4]; 2],
            late: [Duration::ZERO; 2],
            hangs: [None; 2],
            timers_late: [Duration::ZERO; 2],
            seam,
        };
        let standing: Vec<_> = schedule.seam.standing().collect();
        for kind in standing {
            schedule.count(kind);
        }
        schedule
    }

    /// Another round begins; what was arranged before and did not happen will not.
    pub fn arrange(&mut self, faults: &[Arranged]) {
        self.waiting = faults.to_vec();
        self.posts = [[0; 4]; 2];
        self.heal_times();
        self.seam.begin();
    }

    fn heal_times(&mut self) {
        self.late = [Duration::ZERO; 2];
        self.timers_late = [Duration::ZERO; 2];
        self.hangs = [None; 2];
    }

    /// From now on nothing goes wrong.
    pub fn heal(&mut self) {
        self.waiting.clear();
        self.heal_times();
        self.seam.heal();
    }

    /// It happened.
    pub fn count(&mut self, kind: FaultKind) {
        self.counts[kind as usize] += 1;
    }

    /// How often each kind happened.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The next one that is due after so many steps and is not asked for by the world.
    pub(crate) fn due(&mut self, steps: u64) -> Option<Arranged> {
        let at = self.waiting.iter().position(|f| f.at <= steps && !f.kind.is_asked_for())?;
        Some(self.waiting.swap_remove(at))
    }

    pub(crate) const fn completions_late(&mut self, side: Side, time: Duration) {
        self.late[side.index()] = time;
    }

    pub(crate) const fn timers_late(&mut self, side: Side, time: Duration) {
        self.timers_late[side.index()] = time;
    }

    pub(crate) const fn hang(&mut self, side: Side, until: Instant) {
        self.hangs[side.index()] = Some(until);
    }

    /// How late a side sees its timers now.
    pub(crate) fn lateness(&self, now: Instant, side: Side) -> Duration {
        if let Some(until) = self.hangs[side.index()].filter(|until| *until > now) {
            return until.saturating_since(now);
        }
        self.timers_late[side.index()]
    }

    /// Takes one of these kinds, if it is arranged for this side and this count.
    fn take(&mut self, kind: FaultKind, side: Side, count: u64) -> Option<Arranged> {
        if self.waiting.is_empty() {
            return None;
        }
        let at = self.waiting.iter().position(|f| f.kind == kind && f.side == side && f.at <= count)?;
        self.counts[kind as usize] += 1;
        Some(self.waiting.swap_remove(at))
    }
}

/// No memory, as a device says.
const ENOMEM: i32 = 12;

impl Faults for Schedule {
    fn connect(&mut self, _: &mut Rng) -> Result<(), (ConnectReason, Duration)> {
        let reasons = [
            (FaultKind::ConnectRefused, ConnectReason::Refused),
            (FaultKind::ConnectUnreachable, ConnectReason::Unreachable),
            (FaultKind::ConnectTimedOut, ConnectReason::TimedOut),
        ];
        for (kind, reason) in reasons {
            if let Some(fault) = self.take(kind, Side::Initiator, u64::MAX) {
                return Err((reason, fault.time));
            }
        }
        Ok(())
    }

    fn established_late(&mut self, _: &mut Rng) -> Option<Duration> {
        Some(self.take(FaultKind::ReceiveFirst, Side::Acceptor, u64::MAX)?.time)
    }

    fn refuse_post(&mut self, _: Instant, side: Side, work: WrId, _: &mut Rng) -> Option<i32> {
        let (at, kind) = match work {
            WrId::Recv(_) => (0, FaultKind::RefusedReceive),
            WrId::Send(_) => (1, FaultKind::RefusedSend),
            WrId::Rdma(_) => (2, FaultKind::RefusedRdma),
            WrId::Reg(_) => (3, FaultKind::RefusedBind),
        };
        let count = &mut self.posts[side.index()][at];
        *count += 1;
        let count = *count;
        if self.take(kind, side, count).is_some() {
            return Some(ENOMEM);
        }
        self.seam.refuses().then(|| {
            self.count(kind);
            ENOMEM
        })
    }

    fn completion_late(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Duration {
        if let Some(until) = self.hangs[side.index()].filter(|until| *until > now) {
            return until.saturating_since(now);
        }
        if let Some(time) = self.seam.lose_wakeup() {
            self.count(FaultKind::LostWakeUp);
            return time;
        }
        let most = self.late[side.index()];
        if most.is_zero() {
            return most;
        }
        rng.time_below(most)
    }

    fn fail_registration(&mut self, _: Instant, side: Side, _: &mut Rng) -> Option<WorkError> {
        self.take(FaultKind::FailedRegistration, side, u64::MAX)
            .map(|_| WorkError::PostFailed { errno: ENOMEM })
    }

    fn fail_deregistration(&mut self, _: Instant, side: Side, _: &mut Rng) -> Option<WorkError> {
        self.take(FaultKind::FailedDeregistration, side, u64::MAX).map(|_| WorkError::LocalOperation)
    }

    fn registration_late(&mut self, _: Instant, side: Side, _: &mut Rng) -> Duration {
        self.take(FaultKind::SlowRegistration, side, u64::MAX).map_or(Duration::ZERO, |fault| fault.time)
    }

    fn timer_late(&mut self, now: Instant, side: Side, _: &mut Rng) -> Duration {
        self.lateness(now, side)
    }
}
