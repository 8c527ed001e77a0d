//! One run: rounds under faults, then everything heals and everything has to be done.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher as _};
use std::rc::Rc;
use std::time::Duration;

use smbd_core::{Close, Input, PhaseName, WrId};

use super::census::{Census, Counter};
use super::fault::{Arranged, FaultKind, Schedule};
use super::plan::Plan;
use crate::fault::Disruption;
use crate::host::HostConfig;
use crate::oracle::{Failure, Law, Oracles};
use crate::probe::{At, Command, Frame, Probe};
use crate::rawpeer::RawPeer;
use crate::trace::Trace;
use crate::upper::{Carried, Client, Manners, Office, Party, Server, Wrong};
use crate::world::{World, WorldConfig};
use crate::{Breach, Side};

/// More steps than any run takes.
const STEPS_MAX: u64 = 4_000_000;
/// Connections made after everything has healed before it is taken that none will ever last.
const RECONNECTS_MAX: u32 = 4;
/// Virtual time after which a connection that is doomed must have found out.
const DOOM: Duration = Duration::from_secs(1200);
/// After so many steps connections that wait are polled again: law 6.
const POLL_AGAIN: u64 = 16;
/// In which a host notices and acknowledges all that is under way.
const SETTLE: Duration = Duration::from_millis(40);

/// What watches a run.
#[derive(Debug)]
pub struct Watch<F = ()> {
    /// The laws.
    pub oracles: Oracles,
    /// Counts.
    pub counter: Counter,
    /// The trace, if it is wanted.
    pub trace: Option<Trace>,
    /// Who gets to see the frames.
    pub frames: F,
}

impl<F: Probe> Probe for Watch<F> {
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), smbd_core::Misuse>) {
        if let Some(trace) = &mut self.trace {
            trace.input(at, input, result);
        }
        self.counter.input(at, input, result);
        self.oracles.input(at, input, result);
    }

    fn action(&mut self, at: At, action: &smbd_core::Action) {
        if let Some(trace) = &mut self.trace {
            trace.action(at, action);
        }
        self.counter.action(at, action);
        self.oracles.action(at, action);
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.command(at, command);
        }
        self.oracles.command(at, command);
    }

    fn wants_frames(&self) -> bool {
        self.frames.wants_frames()
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        self.frames.frame(at, frame);
    }
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The law that was broken.
    pub failure: Option<Failure>,
    /// Counts.
    pub census: Census,
    /// What was carried.
    pub carried: Carried,
    /// Faults that happened, by kind.
    pub faults: Vec<u64>,
    /// How often each law was looked at.
    pub laws: Vec<u64>,
    /// Every byte was delivered after everything had healed.
    pub delivered: bool,
    /// The peer was a script.
    pub hostile: bool,
    /// Connections made.
    pub connections: u32,
    /// Inputs, actions and events.
    pub steps: u64,
    /// Digest of the trace, if there was one.
    pub digest: Option<u64>,
    /// Its text, if it was kept.
    pub trace: Option<String>,
}

type RunWorld<F> = World<Party, Schedule, Watch<F>>;

/// A run as it goes on.
struct Run<'a, F> {
    plan: &'a Plan,
    world: RunWorld<F>,
    office: Rc<RefCell<Office>>,
    connections: u32,
    /// Breaches that were looked at.
    breaches: [[u64; 2]; 2],
    /// The upper layer of this side had a token invalidated that is none.
    nonsense: [bool; 2],
}

/// Runs a plan to its end.
#[must_use]
pub fn run(plan: &Plan, trace: Option<Trace>) -> Report {
    run_showing(plan, trace, ()).0
}

/// Runs a plan to its end, with `frames` shown every frame; of a hostile run there are none
/// ([`Plan::hostile`](super::Plan::hostile)).
#[must_use]
pub fn run_showing<F: Probe>(plan: &Plan, trace: Option<Trace>, frames: F) -> (Report, F) {
    if let Some(side) = plan.hostile {
        return (hostile(plan, side.peer(), trace), frames);
    }
    let mut run = Run::new(plan, trace, frames);
    let delivered = run.all();
    run.report(delivered)
}

/// A connection on `side` against a script.
fn hostile(plan: &Plan, side: Side, trace: Option<Trace>) -> Report {
    let oracles = Oracles::new(plan.configs.clone());
    let watch = Watch { oracles, counter: Counter::default(), trace, frames: () };
    let mut raw = RawPeer::new(plan.seed, side, &plan.configs[side.index()], watch);
    raw.watch.oracles = Oracles::new([raw.config().clone(), raw.config().clone()]);
    raw.play();
    let mut faults = vec![0; super::fault::KINDS];
    faults[FaultKind::HostilePeer as usize] = 1;
    let watch = &raw.watch;
    let verdicts = watch.oracles.verdicts();
    Report {
        seed: plan.seed,
        failure: verdicts.failure().cloned(),
        census: watch.counter.census(),
        carried: Carried::default(),
        faults,
        laws: Law::ALL.iter().map(|law| verdicts.count(*law)).collect(),
        delivered: false,
        hostile: true,
        connections: 1,
        steps: watch.counter.total(),
        digest: watch.trace.as_ref().map(Trace::digest),
        trace: watch.trace.as_ref().map(|t| t.text().to_owned()),
    }
}

impl<'a, F: Probe> Run<'a, F> {
    fn new(plan: &'a Plan, trace: Option<Trace>, frames: F) -> Self {
        let office = Rc::new(RefCell::new(Office::default()));
        let [client, server] = plan.manners;
        let parties = [
            Party::Client(Client::new(plan.tasks.clone(), plan.window, client, Rc::clone(&office))),
            Party::Server(Server::new(plan.tasks.clone(), server, Rc::clone(&office))),
        ];
        let [a, b] = parties;
        let host = |at: usize, upper| HostConfig {
            config: plan.configs[at].clone(),
            nic: plan.nics[at].clone(),
            upper,
        };
        let oracles = Oracles::new(plan.configs.clone());
        let watch = Watch { oracles, counter: Counter::default(), trace, frames };
        let config = WorldConfig {
            seed: plan.seed,
            personality: plan.personality,
            times: plan.times,
            polling: plan.polling,
        };
        let mut schedule = Schedule::new();
        for kind in &plan.standing {
            schedule.count(*kind);
        }
        let world = World::new(&config, [host(0, a), host(1, b)], schedule, watch);
        Self { plan, world, office, connections: 1, breaches: [[0; 2]; 2], nonsense: [false; 2] }
    }

    fn failed(&self) -> bool {
        self.world.probe().oracles.verdicts().failure().is_some()
    }

    fn check(&mut self, law: Law, holds: bool, side: Side, what: impl FnOnce() -> String) {
        let at = At { now: self.world.now(), side };
        let verdicts = self.world.probe_mut().oracles.verdicts_mut();
        verdicts.at(at);
        verdicts.check(law, holds, what);
    }

    /// Everything. `true` if all was delivered.
    fn all(&mut self) -> bool {
        for (number, faults) in self.plan.rounds.iter().enumerate() {
            if number > 0 && !self.renew() {
                return false;
            }
            self.round(faults);
            if self.failed() || self.is_done() {
                break;
            }
            // A connection that is alive is healed; the next round begins with a new one.
            if number + 1 < self.plan.rounds.len() && !self.doom() {
                return false;
            }
        }
        !self.failed() && self.heal() && self.rest() && self.part()
    }

    fn is_done(&self) -> bool {
        Side::BOTH.iter().all(|side| self.world.host(*side).upper.is_done())
    }

    /// One step and what is to be looked at after it. `false` if nothing is left to happen, or a law is broken.
    fn step(&mut self) -> bool {
        if self.world.step().is_none() {
            return false;
        }
        if self.world.steps().is_multiple_of(POLL_AGAIN) {
            // A connection that waits is asked once more.
            for side in Side::BOTH {
                self.world.command(side, |_, _| ());
            }
        }
        self.look();
        !self.failed()
    }

    fn look(&mut self) {
        for side in Side::BOTH {
            let nic = &self.world.host(side).nic;
            let counts = [nic.breaches.count(), nic.buffers.breaches.count()];
            let seen = std::mem::replace(&mut self.breaches[side.index()], counts);
            if counts != seen {
                self.on_breaches(side, seen);
            }
            self.check(Law::Device, true, side, String::new);
        }
        let wrong = self.office.borrow_mut().wrong.take();
        if let Some((side, wrong)) = wrong {
            let (law, what) = match wrong {
                Wrong::Message(what) => (Law::Delivery, what),
                Wrong::Rdma(what) => (Law::Content, what),
            };
            self.check(law, false, side, || what);
        }
    }

    fn on_breaches(&mut self, side: Side, seen: [u64; 2]) {
        let nic = &self.world.host(side).nic;
        let lists = [nic.breaches.first(), nic.buffers.breaches.first()];
        let new = lists.into_iter().zip(seen).flat_map(|(list, seen)| {
            let seen = usize::try_from(seen).unwrap_or(usize::MAX);
            list.get(seen..).unwrap_or(&[]).to_vec()
        });
        for breach in new.collect::<Vec<_>>() {
            let nonsense = matches!(breach, Breach::InvalidatedNoWindow(_) | Breach::DoubleInvalidation(_))
                && self.nonsense[side.index()];
            let law = match breach {
                Breach::DoubleInvalidation(_) => Law::Tokens,
                Breach::Misuse(_) => Law::Ledger,
                Breach::Endless(_) => Law::Bounded,
                _ => Law::Device,
            };
            self.check(law, nonsense, side, || breach.to_string());
        }
    }

    /// Until the connection is over, the work is done, or nothing happens any more.
    fn round(&mut self, faults: &[Arranged]) {
        self.world.faults_mut().arrange(faults);
        let begin = self.world.steps();
        let until = self.world.now().saturating_add(DOOM);
        while !self.is_done() && !self.world.is_drained() && self.world.now() < until {
            let steps = self.world.steps() - begin;
            while let Some(fault) = self.world.faults_mut().due(steps) {
                self.strike(fault);
            }
            if steps > STEPS_MAX || !self.step() {
                break;
            }
        }
    }

    fn strike(&mut self, fault: Arranged) {
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
                self.behave(side, |m| Manners { hold_one_in: 1, hold_max: u32::MAX, hold: time, ..m });
                true
            }
            FaultKind::SlowUpper => {
                self.behave(side, |m| Manners { hold_one_in: 2, hold: time, ..m });
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

    fn behave(&mut self, side: Side, change: impl FnOnce(Manners) -> Manners) {
        self.world.host_mut(side).upper.behave(change);
    }

    fn talk_nonsense(&mut self) -> bool {
        // Nothing on the device is broken by it where sends cannot invalidate.
        let can = self.plan.nics[Side::Acceptor.index()].send_with_invalidate;
        if let Party::Server(server) = &mut self.world.host_mut(Side::Acceptor).upper
            && can
        {
            server.nonsense = Some(smbd_core::Token(0x0BAD_0BAD));
            self.nonsense[Side::Acceptor.index()] = true;
        }
        can
    }

    /// Names that have come back come back again: nothing may change.
    fn forge(&mut self, side: Side) -> bool {
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
            }
        }
        any
    }

    fn fingerprint(&self, side: Side) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        self.world.connection(side)?.fingerprint(self.world.now(), &mut hasher);
        Some(hasher.finish())
    }

    /// A connection that cannot live on comes to its end.
    fn doom(&mut self) -> bool {
        self.world.faults_mut().heal();
        let until = self.world.now().saturating_add(DOOM);
        let over = self.steps_until(until, |run| run.world.is_drained());
        if !over && !self.failed() {
            // Silence without a keepalive: the upper layers lose patience.
            for side in Side::BOTH {
                self.world.command(side, |_, context| context.close(Close::Abort));
            }
            self.world.disrupt(Disruption::CutSilently);
        }
        let until = self.world.now().saturating_add(DOOM);
        let drained = self.steps_until(until, |run| run.world.is_drained());
        self.check(Law::Liveness, drained, Side::Initiator, || "a dead connection never drained".to_owned());
        drained && !self.failed()
    }

    fn steps_until(&mut self, until: smbd_core::Instant, done: impl Fn(&Self) -> bool) -> bool {
        let begin = self.world.steps();
        loop {
            if done(self) {
                return true;
            }
            let due = self.world.next_time().is_some_and(|at| at <= until);
            if !due || self.world.steps() - begin > STEPS_MAX || !self.step() {
                return false;
            }
        }
    }

    /// A new connection on the same hosts, after the last one has drained.
    fn renew(&mut self) -> bool {
        if self.failed() {
            return false;
        }
        self.after_drained();
        let lost = self.office.borrow_mut().lost();
        for (side, lost) in Side::BOTH.into_iter().zip(lost) {
            let host = self.world.host_mut(side);
            host.upper.renew(lost, &mut host.nic.buffers);
        }
        self.check_leaks();
        self.nonsense = [false; 2];
        self.world.probe_mut().oracles.renew();
        self.connections += 1;
        self.world.reconnect();
        self.look();
        !self.failed()
    }

    /// Nothing comes out of a drained connection any more, whatever it is told.
    fn after_drained(&mut self) {
        for side in Side::BOTH {
            self.world.forge(side, Input::Timeout);
            self.forge(side);
        }
    }

    fn check_leaks(&mut self) {
        for side in Side::BOTH {
            let nic = &self.world.host(side).nic;
            let (buffers, tokens) = (nic.buffers.live(), nic.tokens.live(nic.domain()).count());
            let idle = nic.is_drained();
            self.check(Law::Leaks, buffers == 0 && tokens == 0 && idle, side, || {
                format!("{buffers} buffers, {tokens} tokens left, device idle: {idle}")
            });
        }
    }

    /// No more faults: what was begun is finished.
    fn heal(&mut self) -> bool {
        self.world.faults_mut().heal();
        for side in Side::BOTH {
            let manners = self.plan.manners[side.index()];
            let slots = self.plan.configs[side.index()].lend_max;
            let idle = self.plan.holds_when_idle;
            self.behave(side, |_| Manners {
                hold_one_in: if idle { 3 } else { manners.hold_one_in },
                hold: if idle { Duration::from_secs(500) } else { manners.hold },
                hold_max: u32::from(slots),
                ..manners
            });
            self.world.command(side, Party::release_all);
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

    /// A connection that is there has come to its end.
    fn is_over(&self) -> bool {
        Side::BOTH.iter().any(|side| {
            self.world
                .connection(*side)
                .is_some_and(|c| matches!(c.phase(), PhaseName::Closing | PhaseName::Drained))
        })
    }

    /// Law 8: with nothing to do, both sides are silent until the keepalive, and after it.
    fn rest(&mut self) -> bool {
        if self.is_over() {
            return self.is_done();
        }
        for side in Side::BOTH {
            if self.plan.holds_when_idle {
                let until = self.world.now().saturating_add(DOOM);
                self.world.host_mut(side).upper.keep(until);
            } else {
                self.world.command(side, Party::release_all);
            }
        }
        self.settle();
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

    fn settle(&mut self) {
        let until = self.world.now().saturating_add(SETTLE + self.plan.times.latency.most * 20);
        self.steps_until(until, Self::is_over);
    }

    /// No keepalive is due for so long.
    fn longest_silence(&self) -> Duration {
        let now = self.world.now();
        let deadlines = Side::BOTH.into_iter().filter_map(|side| self.world.host(side).deadline());
        let first = deadlines.map(|at| at.saturating_since(now)).min().unwrap_or(Duration::MAX);
        first.saturating_sub(Duration::from_nanos(1))
    }

    /// One keepalive is a question and an answer, from each side at most.
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
    fn part(&mut self) -> bool {
        if !self.is_over() {
            let until = self.world.now().saturating_add(Duration::from_secs(60));
            self.world.command(Side::Initiator, |_, context| context.close(Close::Flush { until }));
        }
        for side in Side::BOTH {
            self.world.command(side, Party::release_all);
        }
        let until = self.world.now().saturating_add(DOOM);
        let drained = self.steps_until(until, |run| run.world.is_drained());
        self.check(Law::Liveness, drained, Side::Initiator, || "an orderly end that never came".to_owned());
        if !drained || self.failed() {
            return false;
        }
        self.after_drained();
        let lost = self.office.borrow_mut().lost();
        for (side, lost) in Side::BOTH.into_iter().zip(lost) {
            let host = self.world.host_mut(side);
            host.upper.renew(lost, &mut host.nic.buffers);
        }
        self.check_leaks();
        self.look();
        !self.failed()
    }

    fn report(mut self, delivered: bool) -> (Report, F) {
        let carried = self.office.borrow().carried;
        let (faults, steps) = (self.world.faults_mut().counts().to_vec(), self.world.probe().counter.total());
        let watch = self.world.into_probe();
        let verdicts = watch.oracles.verdicts();
        let mut laws: Vec<u64> = Law::ALL.iter().map(|law| verdicts.count(*law)).collect();
        laws[Law::Delivery as usize] += carried.compared[0];
        laws[Law::Content as usize] += carried.compared[1];
        let report = Report {
            seed: self.plan.seed,
            failure: verdicts.failure().cloned(),
            census: watch.counter.census(),
            carried,
            faults,
            laws,
            delivered,
            hostile: false,
            connections: self.connections,
            steps,
            digest: watch.trace.as_ref().map(Trace::digest),
            trace: watch.trace.as_ref().map(|t| t.text().to_owned()),
        };
        (report, watch.frames)
    }
}
