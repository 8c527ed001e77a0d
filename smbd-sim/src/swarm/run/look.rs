//! A step, and the checks after it.

use smbd_core::Instant;

use super::Run;
use crate::oracle::Law;
use crate::probe::{At, Probe};
use crate::upper::Wrong;
use crate::{Breach, Side};

/// After so many steps connections that wait are polled again: law 6.
const POLL_AGAIN: u64 = 16;

impl<F: Probe> Run<'_, F> {
    pub(super) fn check(&mut self, law: Law, holds: bool, side: Side, what: impl FnOnce() -> String) {
        let at = At { now: self.world.now(), side };
        let mut probe = self.world.probe_mut();
        let verdicts = probe.oracles.verdicts_mut();
        verdicts.at(at);
        verdicts.check(law, holds, what);
    }

    /// One step and what is to be looked at after it. `false` if nothing is left to happen, or a law is broken.
    pub(super) fn step(&mut self) -> bool {
        self.world.step().is_some() && self.go_on()
    }

    /// The same, if it happens by then.
    pub(super) fn step_by(&mut self, until: Instant) -> bool {
        self.world.step_by(until).is_some() && self.go_on()
    }

    /// What is to be looked at after a step. `false` if a law is broken.
    fn go_on(&mut self) -> bool {
        if self.world.steps().is_multiple_of(POLL_AGAIN) {
            // A connection that waits is asked once more.
            for side in Side::BOTH {
                self.world.command(side, |_, _| ());
            }
        }
        self.look();
        !self.failed()
    }

    pub(super) fn look(&mut self) {
        for side in Side::BOTH {
            let nic = &self.world.host(side).device.nic;
            let counts = [nic.breaches.count(), nic.buffers.breaches.count()];
            if counts != self.breaches[side.index()] {
                let seen = std::mem::replace(&mut self.breaches[side.index()], counts);
                self.on_breaches(side, seen);
            }
        }
        self.looks += 1;
        if self.workload.borrow().wrong.is_some() {
            self.on_wrong();
        }
    }

    #[cold]
    fn on_wrong(&mut self) {
        let wrong = self.workload.borrow_mut().wrong.take();
        if let Some((side, wrong)) = wrong {
            let (law, what) = match wrong {
                Wrong::Message(what) => (Law::Delivery, what),
                Wrong::Rdma(what) => (Law::Content, what),
            };
            self.check(law, false, side, || what);
        }
    }

    #[cold]
    fn on_breaches(&mut self, side: Side, seen: [u64; 2]) {
        let nic = &self.world.host(side).device.nic;
        let lists = [nic.breaches.first(), nic.buffers.breaches.first()];
        let new = lists.into_iter().zip(seen).flat_map(|(list, seen)| {
            let seen = usize::try_from(seen).unwrap_or(usize::MAX);
            list.get(seen..).unwrap_or(&[]).to_vec()
        });
        for breach in new.collect::<Vec<_>>() {
            let nonsense = matches!(breach, Breach::InvalidatedNoWindow(_) | Breach::DoubleInvalidation(_))
                && self.nonsense[side.index()];
            let law = Law::of(&breach);
            self.check(law, nonsense, side, || breach.to_string());
        }
    }
}
