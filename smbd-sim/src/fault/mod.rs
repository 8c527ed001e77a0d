//! The faults that can be injected into a run.

use std::time::Duration;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{Instant, WrId};

use crate::{Rng, Side};

/// A way to lose the connection that no endpoint had a part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// From now on nothing arrives in either direction, and nobody is told.
    CutSilently,
    /// The devices notice that the link is gone: both sides are told.
    CutLoudly,
    /// The queue pair of one side breaks: its work is flushed, its peer is not told.
    BreakQueuePair(Side),
    /// The process of one side is gone, and its system ends the connection for it, in the way of its network: as an orderly
    /// close, or as a reset.
    KillProcess(Side),
    /// Both hosts stand still for so long, and find everything that was due overdue.
    ClockJump(Duration),
}

/// Decides, whenever something could go wrong, whether it does. Every method may be left out.
pub trait Faults {
    /// The initiator connects: `Err` if it does not succeed, and how long that takes.
    fn connect(&mut self, rng: &mut Rng) -> Result<(), (ConnectReason, Duration)> {
        let _ = rng;
        Ok(())
    }

    /// How much later than the first message of the initiator the acceptor learns that the connection is up; `None`
    /// to learn it in time.
    fn established_late(&mut self, rng: &mut Rng) -> Option<Duration> {
        let _ = rng;
        None
    }

    /// A work request is posted: the error number it is refused with.
    fn refuse_post(&mut self, now: Instant, side: Side, work: WrId, rng: &mut Rng) -> Option<i32> {
        let _ = (now, side, work, rng);
        None
    }

    /// A completion is there: how long the host does not see it.
    fn completion_late(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Duration {
        let _ = (now, side, rng);
        Duration::ZERO
    }

    /// Memory is registered: why it does not succeed.
    fn fail_registration(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Option<WorkError> {
        let _ = (now, side, rng);
        None
    }

    /// Memory is registered or deregistered: how long that takes.
    fn registration_late(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Duration {
        let _ = (now, side, rng);
        Duration::ZERO
    }

    /// Memory is deregistered: why it does not succeed. Access stays as it was.
    fn fail_deregistration(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Option<WorkError> {
        let _ = (now, side, rng);
        None
    }

    /// A connection waits for a time: how much later it is told.
    fn timer_late(&mut self, now: Instant, side: Side, rng: &mut Rng) -> Duration {
        let _ = (now, side, rng);
        Duration::ZERO
    }

    /// Before step number `step` of the run.
    fn before_step(&mut self, now: Instant, step: u64, rng: &mut Rng) -> Option<Disruption> {
        let _ = (now, step, rng);
        None
    }
}

/// Nothing goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {}
