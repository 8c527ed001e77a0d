//! After the faults: all work is finished, both sides are idle, and disconnect.

use std::time::Duration;

use smbd_core::Close;

use super::{DOOM, Run};
use crate::Side;
use crate::oracle::Law;
use crate::probe::Probe;
use crate::upper::{Behaviour, WorkloadUpper};

/// Connections made after everything has healed before it is taken that none will ever last.
const RECONNECTS_MAX: u32 = 4;
/// In which a host notices and acknowledges all that is under way.
const SETTLE: Duration = Duration::from_millis(40);
/// Keepalive probes that may come one upon the other before that counts as talking.
const QUESTIONS_MAX: u32 = 100;

impl<F: Probe> Run<'_, F> {
    /// No more faults: what was begun is finished.
    pub(super) fn heal(&mut self) -> bool {
        self.world.faults_mut().heal();
        for side in Side::BOTH {
            let behaviour = self.plan.behaviour[side.index()];
            let slots = self.plan.configs[side.index()].borrowed_max;
            let idle = self.plan.holds_when_idle;
            self.behave(side, |_| Behaviour {
                hold_one_in: if idle { 3 } else { behaviour.hold_one_in },
                hold: if idle { Duration::from_secs(500) } else { behaviour.hold },
                hold_max: u32::from(slots),
                ..behaviour
            });
            self.world.command(side, WorkloadUpper::release_all);
        }
        let mut reconnects = 0;
        loop {
            if !self.world.is_drained() && !self.is_over() {
                let until = self.world.now().saturating_add(DOOM);
                self.steps_until(until, |run| run.is_done() || run.is_over());
                if self.failed() || self.is_done() {
                    break;
                }
            }
            // It died of what was before, or was dead already.
            if reconnects == RECONNECTS_MAX || !self.doom() || !self.renew() {
                break;
            }
            reconnects += 1;
        }
        let done = self.is_done();
        if !self.failed() {
            let left = Side::BOTH.map(|side| self.world.host(side).upper.left());
            self.check(Law::Liveness, done, Side::Initiator, || {
                format!("not everything was done: client {}; server {}", left[0], left[1])
            });
        }
        done && !self.failed()
    }

    /// Law 8: with nothing to do, both sides are silent until the keepalive, and after it.
    pub(super) fn rest(&mut self) -> bool {
        if self.is_over() {
            return self.is_done();
        }
        for side in Side::BOTH {
            if self.plan.holds_when_idle {
                let until = self.world.now().saturating_add(DOOM);
                self.world.host_mut(side).upper.keep(until);
            } else {
                self.world.command(side, WorkloadUpper::release_all);
            }
        }
        self.settle();
        self.until_nobody_asks();
        let most = [self.longest_silence(), Duration::from_secs(300)].into_iter().min().unwrap_or_default();
        let sent = self.world.probe().counter.sent;
        let until = self.world.now().saturating_add(most);
        self.steps_until(until, Self::is_over);
        let now = self.world.probe().counter.sent;
        self.check(Law::Quiet, sent == now, Side::Initiator, || {
            format!("idle peers sent {} and {} messages", now[0] - sent[0], now[1] - sent[1])
        });
        for side in Side::BOTH {
            self.world.command(side, |_, _| ());
        }
        self.keep_alive();
        let over = self.is_over();
        self.check(Law::Liveness, !over, Side::Initiator, || "an idle connection ended".to_owned());
        !over && !self.failed()
    }

    pub(super) fn settle(&mut self) {
        let until = self.world.now().saturating_add(SETTLE + self.plan.times.latency.most * 20);
        self.steps_until(until, Self::is_over);
    }

    /// Goes on behind a keepalive probe that is under way: its deadline is not when the next one is due.
    fn until_nobody_asks(&mut self) {
        // What crosses a probe is a keepalive response too, and its answer comes later.
        let answer = self.plan.times.latency.most * 20;
        for _ in 0..QUESTIONS_MAX {
            let until = self.world.now().saturating_add(DOOM);
            self.steps_until(until, |run| run.is_over() || !run.is_asking());
            let until = self.world.now().saturating_add(answer);
            self.steps_until(until, Self::is_over);
            if self.is_over() || !self.is_asking() {
                return;
            }
        }
        self.check(Law::Quiet, false, Side::Initiator, || {
            format!("idle peers have asked for a keepalive response {QUESTIONS_MAX} times on end")
        });
    }

    fn is_asking(&self) -> bool {
        Side::BOTH.into_iter().any(|side| self.world.probe().oracles.is_asking(side))
    }

    /// No keepalive is due for so long.
    fn longest_silence(&self) -> Duration {
        let now = self.world.now();
        let deadlines = Side::BOTH.into_iter().filter_map(|side| self.world.host(side).deadline());
        let first = deadlines.map(|at| at.saturating_since(now)).min().unwrap_or(Duration::MAX);
        first.saturating_sub(Duration::from_nanos(1))
    }

    /// One keepalive is a probe and an answer, from each side at most.
    fn keep_alive(&mut self) {
        let silence = self.longest_silence();
        if silence > Duration::from_secs(300) {
            return;
        }
        let before = self.world.probe().counter.sent;
        let settle = SETTLE + self.plan.times.latency.most * 20;
        let until = self.world.now().saturating_add(silence + settle);
        self.steps_until(until, Self::is_over);
        let after = self.world.probe().counter.sent;
        let messages = (after[0] - before[0]) + (after[1] - before[1]);
        let interval = self.plan.configs.iter().filter_map(|c| c.keepalive).map(|k| k.interval).min();
        if interval.is_some_and(|interval| interval > settle * 2) {
            self.check(Law::Quiet, (2..=4).contains(&messages), Side::Initiator, || {
                format!("{messages} messages for one keepalive")
            });
        }
    }

    /// An orderly end: both sides drained, nothing left behind.
    pub(super) fn part(&mut self) -> bool {
        if !self.is_over() {
            let until = self.world.now().saturating_add(Duration::from_secs(60));
            self.world.command(Side::Initiator, |_, context| context.close(Close::Flush { until }));
        }
        for side in Side::BOTH {
            self.world.command(side, WorkloadUpper::release_all);
        }
        let until = self.world.now().saturating_add(DOOM);
        let drained = self.steps_until(until, |run| run.world.is_drained());
        self.check(Law::Liveness, drained, Side::Initiator, || "an orderly end that never came".to_owned());
        if !drained || self.failed() {
            return false;
        }
        self.clear_up();
        self.look();
        !self.failed()
    }
}
