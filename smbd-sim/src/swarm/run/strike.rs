//! Faults that a run injects by itself.

use std::hash::Hasher;

use smbd_core::{Close, Input, WrId};

use super::Run;
use crate::Side;
use crate::fault::Disruption;
use crate::oracle::Law;
use crate::probe::Probe;
use crate::swarm::fault::Arranged;
use crate::swarm::kind::FaultKind;
use crate::upper::{Behaviour, WorkloadUpper};

impl<F: Probe> Run<'_, F> {
    pub(super) fn strike(&mut self, fault: Arranged) {
        let Arranged { kind, side, time, .. } = fault;
        let now = self.world.now();
        let happened = match kind {
            FaultKind::QueuePairBroken => self.disrupt(Disruption::BreakQueuePair(side)),
            FaultKind::LinkLost => self.disrupt(Disruption::CutLoudly),
            FaultKind::LinkSilent => self.disrupt(Disruption::CutSilently),
            FaultKind::ClockJump => self.disrupt(Disruption::ClockJump(time)),
            FaultKind::Abort => self.close(side, Close::Abort),
            FaultKind::EarlyFlush => self.close(side, Close::Flush { until: now.saturating_add(time) }),
            FaultKind::HostHangs => {
                self.world.faults_mut().hang(side, now.saturating_add(time));
                true
            }
            FaultKind::LateCompletions => {
                self.world.faults_mut().completions_late(side, time);
                true
            }
            FaultKind::LateTimers => {
                self.world.faults_mut().timers_late(side, time);
                true
            }
            FaultKind::Hoarding => {
                self.behave(side, |m| Behaviour { hold_one_in: 1, hold_max: u32::MAX, hold: time, ..m });
                true
            }
            FaultKind::SlowUpper => {
                self.behave(side, |m| Behaviour { hold_one_in: 2, hold: time, ..m });
                true
            }
            FaultKind::NonsenseInvalidation => self.talk_nonsense(),
            FaultKind::Forgery => self.forge(side),
            _ => false,
        };
        if happened {
            self.world.faults_mut().count(kind);
        }
        self.look();
    }

    fn disrupt(&mut self, disruption: Disruption) -> bool {
        self.world.disrupt(disruption);
        true
    }

    fn close(&mut self, side: Side, how: Close) -> bool {
        let there = self.world.connection(side).is_some();
        self.world.command(side, |_, context| context.close(how));
        there
    }

    pub(super) fn behave(&mut self, side: Side, change: impl FnOnce(Behaviour) -> Behaviour) {
        self.world.host_mut(side).upper.behave(change);
    }

    fn talk_nonsense(&mut self) -> bool {
        // Nothing on the device is broken by it where sends cannot invalidate.
        let can = self.plan.nics[Side::Acceptor.index()].send_with_invalidate;
        if let WorkloadUpper::Server(server) = &mut self.world.host_mut(Side::Acceptor).upper
            && can
        {
            server.nonsense = Some(smbd_core::Token(0x0BAD_0BAD));
            self.nonsense[Side::Acceptor.index()] = true;
        }
        can
    }

    /// Names that have come back come back again: nothing may change.
    pub(super) fn forge(&mut self, side: Side) -> bool {
        let spent = self.world.probe().oracles.spent(side);
        let mut any = false;
        for id in spent.into_iter().flatten() {
            let error = smbd_core::error::WorkError::Flushed;
            let head = smbd_core::Head::of(&[0; 20]);
            let input = match id {
                WrId::Recv(id) => Input::Received { id, head, len: 20, invalidated: None },
                WrId::Send(id) => Input::Sent { id },
                WrId::Rdma(id) => Input::RdmaDone { id },
                WrId::Reg(id) => Input::Deregistered { id },
            };
            for input in [input, Input::Failed { id, error }] {
                let before = self.fingerprint(side);
                let result = self.world.forge(side, input);
                let after = self.fingerprint(side);
                self.check(Law::Ledger, result.is_none_or(|r| r.is_err()) && before == after, side, || {
                    format!("{input:?} was made up, answer {result:?}, state changed: {}", before != after)
                });
                any |= result.is_some();
                self.world.command(side, |_, _| ());
            }
        }
        any
    }

    fn fingerprint(&self, side: Side) -> Option<Vec<u8>> {
        let mut state = State(Vec::with_capacity(2048));
        self.world.connection(side)?.fingerprint(self.world.now(), &mut state);
        Some(state.0)
    }
}

/// All that would be hashed: it is only compared, once.
struct State(Vec<u8>);

impl Hasher for State {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
