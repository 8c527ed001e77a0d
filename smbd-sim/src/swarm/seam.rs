//! The choices of a second random stream: what is driven, and the faults between device and backend.

use std::time::Duration;

use super::kind::FaultKind;
use crate::Rng;
use crate::host::Machines;

/// Longest time for which a completion is not seen after its wake-up was lost.
const LOST: Duration = Duration::from_millis(8);

/// What lies between devices and connections.
#[derive(Clone, Debug)]
pub struct Seam {
    /// What each side drives.
    pub machines: [Machines; 2],
    /// Completions come all at once, however many there are.
    pub merged: bool,
    /// After so many inputs a device says once that there is none.
    pub pause: u32,
    /// A queue pair is destroyed when it is disconnected, on iWARP: no completion tells of what was posted.
    pub loses_flushes: [bool; 2],
    /// Sends of at least so many bytes are signalled, whether or not that was asked for.
    pub signal_from: [u32; 2],
    /// In 1 of so many cases nobody is woken by a completion, until something else is; 0 is never.
    lost_one_in: u64,
    /// 1 of so many work requests is refused; 0 is none.
    refused_one_in: u64,
    rng: Rng,
    is_healed: bool,
}

impl Seam {
    /// Nothing goes wrong, and both sides drive connections.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            machines: [Machines::Connection; 2],
            merged: false,
            pause: u32::MAX,
            loses_flushes: [false; 2],
            signal_from: [u32::MAX; 2],
            lost_one_in: 0,
            refused_one_in: 0,
            rng: Rng::new(0),
            is_healed: true,
        }
    }

    /// Drawn from a stream of its own; `faulty` runs have faults.
    pub(super) fn drawn(rng: &mut Rng, faulty: bool) -> Self {
        let machine = |rng: &mut Rng| {
            if rng.chance(1, 2) { Machines::Endpoint } else { Machines::Connection }
        };
        let signal = |rng: &mut Rng| if rng.chance(1, 4) { 64 } else { u32::MAX };
        Self {
            machines: [machine(rng), machine(rng)],
            merged: rng.chance(1, 4),
            pause: if rng.chance(1, 4) { u32::try_from(rng.between(1, 3)).unwrap_or(1) } else { u32::MAX },
            loses_flushes: [rng.chance(1, 4), rng.chance(1, 4)],
            signal_from: [signal(rng), signal(rng)],
            lost_one_in: if rng.chance(1, 3) { rng.between(2, 40) } else { 0 },
            refused_one_in: if faulty && rng.chance(1, 6) { rng.between(50, 2000) } else { 0 },
            rng: rng.split(),
            is_healed: !faulty,
        }
    }

    /// Faults that are there from the beginning.
    pub(super) fn standing(&self) -> impl Iterator<Item = FaultKind> {
        let signalled = self.signal_from.iter().any(|from| *from < u32::MAX);
        let merged = self.merged.then_some(FaultKind::MergedCompletions);
        merged.into_iter().chain(signalled.then_some(FaultKind::SignalledSends))
    }

    /// From now on nothing goes wrong.
    pub(super) const fn heal(&mut self) {
        self.is_healed = true;
    }

    /// Faults again.
    pub(super) const fn begin(&mut self) {
        self.is_healed = false;
    }

    /// A completion wakes nobody: how long it is not seen.
    pub(super) fn lose_wakeup(&mut self) -> Option<Duration> {
        if self.is_healed || self.lost_one_in == 0 || !self.rng.chance(1, self.lost_one_in) {
            return None;
        }
        Some(self.rng.time_below(LOST))
    }

    /// A work request is refused.
    pub(super) fn refuses(&mut self) -> bool {
        !self.is_healed && self.refused_one_in > 0 && self.rng.chance(1, self.refused_one_in)
    }
}
