//! An idle pair, which exchanges only keepalive probes and responses.

use std::time::Duration;

use smbd_core::{Config, ConfigError, Keepalive, Params, PhaseName};

use super::{Soaked, Stock, stock};
use crate::device::Polling;
use crate::nic::{NicConfig, Personality};
use crate::oracle::Law;
use crate::swarm::run::Run;
use crate::swarm::{Plan, Seam};
use crate::upper::Behaviour;
use crate::world::Times;
use crate::{Side, Side::Initiator};

/// Longest time for the connection to come up.
const UP: Duration = Duration::from_secs(5);

/// A pair that is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// Kind of network.
    pub personality: Personality,
    /// After which each side asks the other, initiator first; `None` if it never does.
    pub intervals: [Option<Duration>; 2],
    /// For how long; half of the shortest interval is added, so that no probe is due in the end if
    /// it is a multiple of that interval.
    pub time: Duration,
}

impl Idle {
    /// How often one asks and the other answers. Who is asked has heard something: only the less patient side asks, or both
    /// take turns.
    #[must_use]
    pub fn probes(&self) -> u64 {
        let least = self.interval().as_nanos();
        let probes = self.all().as_nanos().checked_div(least).unwrap_or(0);
        u64::try_from(probes).unwrap_or(u64::MAX)
    }

    /// The time with what is added.
    fn all(&self) -> Duration {
        self.time.saturating_add(self.interval() / 2)
    }

    fn interval(&self) -> Duration {
        self.intervals.into_iter().flatten().min().unwrap_or_default()
    }

    fn plan(&self) -> Result<Plan, ConfigError> {
        let config = |interval: Option<Duration>| {
            let answer_timeout = Duration::from_secs(5);
            let keepalive = interval.map(|interval| Keepalive { interval, answer_timeout });
            Config::try_from(Params { keepalive, ..Params::windows() })
        };
        let [a, b] = self.intervals;
        let configs = [config(a)?, config(b)?];
        let quiet = Behaviour {
            hold_one_in: 0,
            hold_max: 0,
            hold: Duration::ZERO,
            probe_every: 0,
            senseless_every: 0,
            invalidates: false,
            patient: true,
            notices: 0,
            notice_pause: Duration::ZERO,
            unsignalled_one_in: 0,
        };
        Ok(Plan {
            seed: 0,
            tape: None,
            personality: self.personality,
            nics: [0, 1].map(|at: usize| NicConfig::of(self.personality, &configs[at].budget())),
            configs,
            times: Times::default(),
            polling: Polling::default(),
            behaviour: [quiet; 2],
            tasks: Vec::new(),
            window: 1,
            rounds: Vec::new(),
            standing: Vec::new(),
            hostile: None,
            holds_when_idle: false,
            seam: Seam::plain(),
        })
    }
}

/// Leaves a pair alone for the time, and counts what it says: a probe and an answer for each interval, and nothing else.
///
/// # Errors
/// An interval is 0.
pub fn idle(what: &Idle) -> Result<Soaked, ConfigError> {
    let plan = what.plan()?;
    let mut run = Run::new(&plan, None, ());
    let began = Stock::of(&run);
    let until = run.world.now().saturating_add(UP);
    let is_up = |run: &Run<'_, ()>| {
        let up = |side| run.world.connection(side).is_some_and(|c| c.phase() == PhaseName::Established);
        Side::BOTH.into_iter().all(up)
    };
    let up = run.steps_until(until, is_up);
    run.check(Law::Liveness, up, Initiator, || "the connection did not come up".to_owned());
    let since = run.world.now();
    run.settle();
    let before = run.world.probe().counter.sent;
    let tables = stock::tables(&run);
    let until = since.saturating_add(what.all());
    let over = run.steps_until(until, Run::is_over);
    run.check(Law::Liveness, !over, Initiator, || "an idle connection ended".to_owned());
    let after = run.world.probe().counter.sent;
    let said = [0, 1].map(|at: usize| after[at] - before[at]);
    let expected = what.probes();
    run.check(Law::Quiet, said == [expected; 2], Initiator, || {
        format!("{} and {} messages for {expected} probes and their answers", said[0], said[1])
    });
    if !run.failed() {
        run.part();
    }
    let soaked = Soaked::of(&mut run, began, tables);
    Ok(Soaked { sent: said, time: until.saturating_since(smbd_core::Instant::ORIGIN), ..soaked })
}
