//! One run: a connection with all laws checked, and a model of a peer.

mod device;
mod rest;

use std::time::Duration;

use smbd_core::error::CloseReason;
use smbd_core::{Close, Instant};

use super::exception::{self, Exception};
use super::line::Phase;
use super::model::Model;
use super::upper::{Outcome, ScriptedUpper};
use super::work::ScriptedMessage;
use super::{Kind, Plan};
use crate::fault::Faults;
use crate::host::{Context, HostConfig};
use crate::trace::Trace;
use crate::watch::Watch;
use crate::world::{Step, World, WorldConfig};
use crate::{Rng, Side};
use device::Posts;

/// More steps than any run takes.
const STEPS_MAX: u64 = 1_000_000;
/// Virtual time after which everything must have been said, or somebody must have found out that it cannot be.
const DOOM: Duration = Duration::from_secs(1200);

/// After so many steps a connection that waits is polled again.
const POLL_AGAIN: u64 = 16;
/// Time in which something happens if anything does but timers.
const PATIENCE: Duration = Duration::from_secs(2);
/// As long as the ECHO of SMB2 (MS-SMB2 2.2.28).
const ECHO: ScriptedMessage = ScriptedMessage { len: 68, key: 0, pause: Duration::ZERO };

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All messages arrived, and then it was quiet until the keepalive.
    Delivered,
    /// The peer came to a stand by its own rules, all laws were kept. The connection ended with
    /// [`CreditStall`](CloseReason::CreditStall); in a run that is excepted it may have had nothing to send and to miss
    /// credits for.
    Stalled,
    /// Something was broken.
    Failed(String),
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What the peer was.
    pub kind: Kind,
    /// How it ended.
    pub verdict: Verdict,
    /// Why it was not expected to end well, if it was not.
    pub exception: Option<Exception>,
    /// The trace, if it was wanted.
    pub trace: Option<String>,
}

/// Completions are seen late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late([Duration; 2]);

impl Faults for Late {
    fn completion_late(&mut self, _: Instant, side: Side, rng: &mut Rng) -> Duration {
        let most = self.0[side.index()];
        if most.is_zero() { most } else { rng.time_below(most) }
    }
}

/// A run as it goes on.
struct Run<'a> {
    plan: &'a Plan,
    world: World<ScriptedUpper, Late, Watch>,
    model: Model,
    /// Of the model.
    side: Side,
    posts: Posts,
    /// Steps of the world and of the model.
    steps: u64,
}

/// Runs a plan to its end.
#[must_use]
pub fn run(plan: &Plan, trace: Option<Trace>) -> Report {
    let model = plan.model_of(plan.kind.rules(&plan.model));
    run_model(plan, model, trace)
}

/// Runs a plan with a model of one's own in the place of the peer.
pub(super) fn run_model(plan: &Plan, model: Model, trace: Option<Trace>) -> Report {
    let mut run = Run::new(plan, model, trace);
    let verdict = match run.all() {
        Ok(verdict) => verdict,
        Err(what) => Verdict::Failed(what),
    };
    let trace = &mut run.world.probe_mut().trace;
    if let Some(trace) = trace {
        trace.end();
    }
    Report {
        seed: plan.seed,
        kind: plan.kind,
        verdict,
        exception: exception::of(plan),
        trace: trace.as_ref().map(|trace| trace.text().to_owned()),
    }
}

impl Plan {
    /// The peer, with these rules.
    pub(super) fn model_of(&self, rules: Box<dyn super::model::Rules>) -> Model {
        let side = self.kind.side();
        let [says, hears] = [side, side.peer()].map(|side| &self.script[side.index()]);
        Model::new(side, self.model.clone(), rules, self.kind.opening(side), says, hears)
    }
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, model: Model, trace: Option<Trace>) -> Self {
        let side = plan.kind.side();
        let host = |here: Side| {
            let nic = if here == side {
                device::nic(plan.personality, &plan.model, model.buffers(), &plan.nic)
            } else {
                plan.nic.clone()
            };
            // The model's host has no connection: what stands in its place is never asked.
            let [says, hears] = [here, here.peer()].map(|side| &plan.script[side.index()]);
            HostConfig {
                config: plan.config.clone(),
                nic,
                upper: ScriptedUpper::new(plan.behaviour, plan.kind.opening(here), says, hears),
            }
        };
        let watch = Watch::new([plan.config.clone(), plan.config.clone()], trace, ());
        let Plan { seed, personality, times, polling, .. } = *plan;
        let config = WorldConfig { seed, personality, times, polling };
        let mut world = World::new(&config, Side::BOTH.map(host), Late(plan.late), watch);
        world.make_bare(side);
        world.host_mut(side.peer()).machine = plan.machine;
        Self { plan, world, model, side, posts: Posts::default(), steps: 0 }
    }

    const fn ours(&self) -> Side {
        self.side.peer()
    }

    /// The upper layer on the connection's side.
    const fn upper(&self) -> &ScriptedUpper {
        &self.world.host(self.ours()).upper
    }

    fn all(&mut self) -> Result<Verdict, String> {
        self.model.start();
        self.carry_out();
        let until = self.world.now().saturating_add(DOOM);
        loop {
            self.steps_until(until, |run| run.is_delivered() || run.is_over() || run.waits_for_the_peer())?;
            if !self.waits_for_the_peer() {
                break;
            }
            self.ask_again();
        }
        if !self.is_delivered() {
            return self.stalled();
        }
        self.rest()?;
        self.part()?;
        Ok(Verdict::Delivered)
    }

    /// The model has heard everything and has something to say, and for seconds nothing happens.
    fn waits_for_the_peer(&self) -> bool {
        let next = [self.model.deadline(), self.world.next_time()].into_iter().flatten().min();
        let nothing = next.is_none_or(|at| at > self.world.now().saturating_add(PATIENCE));
        let begun = self.upper().established && !self.is_over();
        self.plan.kind.may_stall() && begun && nothing && self.model.has_heard_all() && !self.is_delivered()
    }

    /// The upper layer does what SMB2 does: it asks whether anybody is there. Whoever cannot send that finds out.
    fn ask_again(&mut self) {
        self.model.expect(ECHO);
        self.world.command(self.ours(), |upper: &mut ScriptedUpper, context| upper.say(ECHO, context));
    }

    /// Whether the peer need not go on to the end.
    fn is_excused(&self) -> bool {
        self.plan.kind.may_stall() || exception::of(self.plan).is_some()
    }

    fn is_delivered(&self) -> bool {
        self.upper().is_done() && self.model.is_done()
    }

    fn is_over(&self) -> bool {
        self.upper().ended.is_some()
    }

    /// Not all was delivered: the connection has to have found out, and for a peer that cannot go on.
    fn stalled(&mut self) -> Result<Verdict, String> {
        let left =
            format!("{}; the model ({:?}): {}", self.upper().left(), self.model.phase(), self.model.left());
        let excepted = exception::of(self.plan).is_some();
        match self.upper().ended {
            Some(Outcome::Closed(CloseReason::CreditStall)) if excepted || self.plan.kind.may_stall() => {}
            // What it lacks may be something to say.
            None | Some(Outcome::Closed(CloseReason::KeepaliveTimeout)) if excepted => {}
            ended => return Err(format!("not everything was delivered, ended {ended:?}: {left}")),
        }
        self.part()?;
        Ok(Verdict::Stalled)
    }

    /// An end in good order, with nothing left behind.
    fn part(&mut self) -> Result<(), String> {
        let (now, ours) = (self.world.now(), self.ours());
        let until = now.saturating_add(Duration::from_secs(60));
        self.world.command(ours, |upper: &mut ScriptedUpper, context: &mut Context<'_>| {
            upper.give_back(Instant::from_nanos(u64::MAX), context);
            context.close(Close::Flush { until });
        });
        self.steps_until(now.saturating_add(DOOM), |run| run.world.host(run.ours()).is_drained())?;
        let host = self.world.host(ours);
        if !host.is_drained() {
            return Err("an orderly end that never came".to_owned());
        }
        match host.device.nic.buffers.live() {
            0 => Ok(()),
            left => Err(format!("{left} buffers were left behind")),
        }
    }

    fn steps_until(&mut self, until: Instant, done: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begin = self.steps;
        while !done(self) && self.step(until) {
            self.look()?;
            if self.steps - begin > STEPS_MAX {
                return Err(format!("more than {STEPS_MAX} steps, the model: {}", self.model.left()));
            }
        }
        self.look()
    }

    /// The next thing that happens, to the model or in the world. `false` if nothing is left to happen before `until`.
    fn step(&mut self, until: Instant) -> bool {
        let model = self.model.deadline().filter(|at| *at <= until);
        let world = self.world.next_time().filter(|at| *at <= until);
        match (model, world) {
            (None, None) => return false,
            _ if self.steps.is_multiple_of(POLL_AGAIN) => {
                // A connection that waits is asked once more: law 6.
                self.world.command(self.ours(), |_, _| ());
            }
            (Some(at), world) if world.is_none_or(|world| at < world) => {
                self.world.run_until(at, |_| false);
                self.model.on_time(self.world.now());
                self.carry_out();
            }
            _ => {
                if self.world.step() == Some(Step::Poll(self.side)) {
                    self.poll_model();
                }
            }
        }
        self.steps += 1;
        true
    }

    /// Laws, devices, upper layers.
    fn look(&self) -> Result<(), String> {
        if let Some(failure) = self.world.probe().oracles.verdicts().failure() {
            return Err(failure.to_string());
        }
        if let Some((side, breach)) = self.world.breaches().next() {
            return Err(format!("{}: {breach}", if side == self.side { "the model" } else { side.short() }));
        }
        if let Some(wrong) = self.upper().receive.wrong.as_deref() {
            return Err(format!("heard: {wrong}"));
        }
        if let Some(wrong) = self.model.wrong() {
            return Err(format!("the model heard: {wrong}"));
        }
        match self.model.phase() {
            Phase::Over(why) if !self.is_over() && !self.plan.kind.may_stall() => {
                Err(format!("the model ended the connection: {why}"))
            }
            _ => Ok(()),
        }
    }
}
