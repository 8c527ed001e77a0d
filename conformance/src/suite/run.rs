//! Plays cases.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::cases::Entry;
use super::outcome::{Finding, Outcome, Played, Signs, Stop, Unjudged};
use super::play::Play;
use super::rig::{Target, Unable};
use super::trace::Trace;
use super::upper::{Upper, Uppers};
use super::waiting::{Cut, Watch};
use crate::catalogue::{Case, Need, UnderTest};

/// What is played besides the choice of cases, and what is known by the cases played before.
#[derive(Clone, Debug)]
pub struct Options {
    /// Cases that wait for a timer of the subject.
    pub timers: bool,
    /// How long a play may take, in the target's time, beyond the time that its case waits for timers.
    pub limit: Option<Duration>,
    /// What the upper layers of the subject were found to do.
    pub uppers: Uppers,
    /// The case in which the subject kept the script waiting for a credit for 120 s in vain. Others do not wait so long then,
    /// and come to no verdict without one.
    pub no_credits: Option<String>,
    /// Tells what is waited for.
    pub watch: Watch,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            timers: true,
            limit: None,
            uppers: Uppers::default(),
            no_credits: None,
            watch: Watch::default(),
        }
    }
}

/// Both sides that may be under test.
pub const SIDES: [UnderTest; 2] = [UnderTest::Acceptor, UnderTest::Initiator];

/// Plays a case once. Everything that happens is in what it returns.
pub fn play(
    target: &mut dyn Target,
    variant: usize,
    (case, entry): (&Case, &Entry),
    role: UnderTest,
    options: &Options,
) -> Played {
    let name = target.variants().get(variant).cloned().unwrap_or_default();
    let mut played = Played::new(&case.name, &role.to_string(), &name);
    if let Some(outcome) = not_played(target, case, role, options) {
        played.outcome = outcome;
        return played;
    }
    let settings = entry.settings.filter(|_| !target.has(&case.settings));
    let rig = match target.rig(variant, role, settings) {
        Ok(rig) => rig,
        Err(Unable::NotApplicable(why)) => {
            played.outcome = Outcome::NotApplicable(why);
            return played;
        }
        Err(Unable::Broken(why)) => return broken(played, why),
    };
    let listed: BTreeSet<_> = case.statements.iter().map(ToString::to_string).collect();
    let mut play = Play::new(rig, role, listed, options.uppers.of(role).clone()).of(&case.name);
    (play.no_credits, play.watch) = (options.no_credits.clone(), options.watch.clone());
    let limit = options.limit.map(|limit| limit + case.time);
    if let Some(limit) = limit {
        play.end_after(limit);
    }
    let result = (entry.play)(&mut play);
    play.take_news();
    play.look_back();
    let late = limit.filter(|_| play.is_late()).map(|limit| too_late(limit, play.cut));
    if let Some(why) = &late {
        play.step(why);
    }
    play.record.signs.may_be_gone = play.states.iter().any(|state| state.raw || !state.is_up());
    played.time = play.now().as_nanos();
    let faults = play.rig.faults();
    (played.network, played.device) = (play.rig.network(), play.rig.device());
    let ended = play.rig.end();
    let record = play.record;
    played.subject_hangs = ended.is_err();
    (played.asserted, played.trace) = (record.asserted, record.trace);
    (played.findings, played.does_not) = (record.findings, record.facts);
    played.signs = record.signs;
    if let Err(why) = ended {
        return broken(played, why);
    }
    if !faults.is_empty() {
        return broken(played, format!("the subject's device was misused: {}", faults.join("; ")));
    }
    if let Some(why) = late {
        played.outcome = played.unless_failed(Outcome::NotJudged(Unjudged::alone(why)));
        return played;
    }
    match result {
        Ok(()) | Err(Stop::Failed | Stop::NotJudged(_)) if !played.findings.is_empty() => {
            played.outcome = Outcome::Failed;
        }
        Ok(()) => {
            if let Some(why) = record.unjudged {
                played.outcome = Outcome::NotJudged(why);
            }
        }
        Err(Stop::NotJudged(why)) => played.outcome = Outcome::NotJudged(why),
        // It may do what the case is about, and does not.
        Err(Stop::Failed) if !played.does_not.is_empty() => {}
        Err(Stop::Failed) => return broken(played, "the case stopped without a finding".into()),
        Err(Stop::NotApplicable(why)) => played.outcome = Outcome::NotApplicable(why),
        Err(Stop::Broken(why)) => return broken(played, why),
    }
    played
}

fn not_played(target: &dyn Target, case: &Case, role: UnderTest, options: &Options) -> Option<Outcome> {
    if let Some(why) = target.lacks(role, None) {
        return Some(Outcome::NotApplicable(why));
    }
    let upper = options.uppers.of(role);
    let lacks = |need: &Need| match (need, upper.lacks_rdma()) {
        (Need::Rdma, Some(found)) => found,
        (Need::Smb2, _) => target.lacks(role, Some(*need)).or_else(|| upper.lacks_smb2()),
        _ => target.lacks(role, Some(*need)),
    };
    if let Some(why) = case.needs.iter().find_map(lacks) {
        return Some(Outcome::NotApplicable(why));
    }
    if let (true, Upper::Silent(why)) = (case.needs.contains(&Need::Answers), options.uppers.of(role)) {
        return Some(Outcome::NotApplicable(why.clone()));
    }
    (case.needs.contains(&Need::Timers) && !options.timers)
        .then(|| Outcome::LeftOut(format!("it waits for a timer, {} s", case.time.as_secs())))
}

impl Played {
    /// A play that has found nothing.
    pub(crate) fn new(case: &str, role: &str, variant: &str) -> Self {
        Self {
            case: case.into(),
            role: role.into(),
            variant: variant.into(),
            outcome: Outcome::Passed,
            asserted: BTreeMap::new(),
            findings: Vec::new(),
            does_not: Vec::new(),
            network: None,
            device: None,
            signs: Signs::default(),
            subject_hangs: false,
            time: 0,
            trace: Trace::default(),
        }
    }

    /// This outcome, unless something was found before: that stays.
    fn unless_failed(&self, outcome: Outcome) -> Outcome {
        if self.findings.is_empty() { outcome } else { Outcome::Failed }
    }

    /// A play of which nothing is known but why that is so: it failed.
    #[must_use]
    pub fn lost(case: &Case, role: UnderTest, variant: &str, why: String) -> Self {
        broken(Self::new(&case.name, &role.to_string(), variant), why)
    }
}

/// Why a play that ran out of time is not judged.
fn too_late(limit: Duration, cut: Option<Cut>) -> String {
    let what = cut.map_or_else(String::new, |cut| format!("; {cut}"));
    format!("not over after {} s, its limit{what}", limit.as_secs())
}

/// The case could not be played: a failure that is not about a statement.
fn broken(mut played: Played, why: String) -> Played {
    played.outcome = Outcome::Failed;
    played.findings.push(Finding {
        statements: Vec::new(),
        text: why,
        at: played.time,
        connection: None,
        sent: None,
        came: None,
        known: None,
    });
    played
}
