//! Playing cases.

use std::collections::BTreeSet;

use super::cases::Entry;
use super::outcome::{Finding, Outcome, Played, Stop};
use super::play::Play;
use super::target::{Target, Unable};
use crate::catalogue::{Case, Need, UnderTest};

/// What is played besides the choice of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Cases that wait for a timer of the subject.
    pub timers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { timers: true }
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
    options: Options,
) -> Played {
    let name = target.variants().get(variant).cloned().unwrap_or_default();
    let mut played = Played {
        case: case.name.clone(),
        role: role.to_string(),
        variant: name,
        outcome: Outcome::Passed,
        asserted: std::collections::BTreeMap::new(),
        findings: Vec::new(),
        time: 0,
        trace: super::trace::Trace::default(),
    };
    if let Some(outcome) = not_played(target, case, role, options) {
        played.outcome = outcome;
        return played;
    }
    let rig = match target.rig(variant, role, entry.settings) {
        Ok(rig) => rig,
        Err(Unable::NotApplicable(why)) => {
            played.outcome = Outcome::NotApplicable(why);
            return played;
        }
        Err(Unable::Broken(why)) => return broken(played, why),
    };
    let listed: BTreeSet<_> = case.statements.iter().map(ToString::to_string).collect();
    let mut play = Play::new(rig, role, listed);
    let result = (entry.play)(&mut play);
    play.take_news();
    played.time = play.now().as_nanos();
    let faults = play.rig.faults();
    let record = play.record;
    (played.asserted, played.findings, played.trace) = (record.asserted, record.findings, record.trace);
    if !faults.is_empty() {
        return broken(played, format!("the subject's device was misused: {}", faults.join("; ")));
    }
    match result {
        Ok(()) | Err(Stop::Failed) if !played.findings.is_empty() => played.outcome = Outcome::Failed,
        Ok(()) => {}
        Err(Stop::Failed) => return broken(played, "the case stopped without a finding".into()),
        Err(Stop::NotApplicable(why)) => played.outcome = Outcome::NotApplicable(why),
        Err(Stop::Broken(why)) => return broken(played, why),
    }
    played
}

fn not_played(target: &dyn Target, case: &Case, role: UnderTest, options: Options) -> Option<Outcome> {
    if let Some(why) = target.lacks(role, None) {
        return Some(Outcome::NotApplicable(why));
    }
    if let Some(why) = case.needs.iter().find_map(|need| target.lacks(role, Some(*need))) {
        return Some(Outcome::NotApplicable(why));
    }
    (case.needs.contains(&Need::Timers) && !options.timers)
        .then(|| Outcome::LeftOut(format!("it waits for a timer, {} s", case.time.as_secs())))
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
    });
    played
}
