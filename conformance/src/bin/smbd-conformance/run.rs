//! `smbd-conformance run`: plays cases and reports.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::report::{ProfileReport, Report};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::{Options, Played, cases};

use super::choice::Choice;
use super::output::{Failed, Format, Output};
use super::progress::Progress;
use super::stage::{Job, Lost, Stage};
use super::target::TargetArgs;
use super::{FAILED, PASSED, SIGNALLED, USAGE};

/// Plays cases and reports what the implementation under test does about each requirement.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    target: TargetArgs,
    /// With --after: that case ended an earlier run, for this reason; it counts as failed
    #[arg(long, value_name = "WHY", requires = "after")]
    lost: Option<String>,
    /// Leave out what waits for timers of the implementation under test
    #[arg(long)]
    no_timers: bool,
    /// Most seconds a play may take beyond the time that its case waits for timers; over a device 180 unless said otherwise
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: Option<u64>,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write it to a file instead, which has a report of what was played so far at any time; the counts are printed in any
    /// case
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Say how each case ended when it ends, on a terminal, too
    #[arg(long, short)]
    verbose: bool,
}

/// Most seconds that a play over a device may take, timers apart.
const LIMIT: u64 = 180;

/// Plays and reports.
pub fn run(arguments: &RunArgs, catalogue: &Catalogue) -> ExitCode {
    let target = match arguments.target.target() {
        Ok(target) => target,
        Err(why) => {
            eprintln!("smbd-conformance: {why}");
            return ExitCode::from(USAGE);
        }
    };
    let chosen: Vec<_> = arguments.choice.cases(catalogue).collect();
    let before = match arguments.choice.before(catalogue) {
        Ok(before) => before,
        Err(why) => {
            eprintln!("smbd-conformance: {why}");
            return ExitCode::from(USAGE);
        }
    };
    if chosen.is_empty() && arguments.lost.is_none() {
        eprintln!("smbd-conformance: no case is like that; `smbd-conformance list` has all");
        return ExitCode::from(USAGE);
    }
    let limit = arguments.limit.or(arguments.target.is_real().then_some(LIMIT)).map(Duration::from_secs);
    let profile = match arguments.target.profile(catalogue) {
        Ok(profile) => profile,
        Err(why) => {
            eprintln!("smbd-conformance: {why}");
            return ExitCode::from(USAGE);
        }
    };
    let options = Options { timers: !arguments.no_timers, limit };
    let stage = match Stage::new(arguments.target.clone(), options) {
        Ok(stage) => stage,
        Err(error) => {
            eprintln!("smbd-conformance: signals: {error}");
            return ExitCode::from(USAGE);
        }
    };
    let output = Output::new(arguments.format, arguments.output.clone());
    let mut run = Run { arguments, catalogue, target, profile, stage, output, played: Vec::new() };
    match run.all(&chosen, before.zip(arguments.lost.as_deref())) {
        Ok((report, None)) if report.passed() => ExitCode::from(PASSED),
        Ok((_, None)) => ExitCode::from(FAILED),
        Ok((_, Some(signal))) => ExitCode::from(SIGNALLED.saturating_add(signal)),
        Err((name, error)) => {
            eprintln!("smbd-conformance: {name}: {error}");
            ExitCode::from(USAGE)
        }
    }
}

struct Run<'a> {
    arguments: &'a RunArgs,
    catalogue: &'a Catalogue,
    target: Box<dyn Target>,
    profile: Option<Profile>,
    stage: Stage,
    output: Output,
    played: Vec<Played>,
}

impl Run<'_> {
    /// The plays of a case that ended an earlier run.
    fn lost(&self, case: &Case, why: &str) -> Vec<Played> {
        let applies = |role: &UnderTest| self.target.lacks(*role, None).is_none();
        let variants = self.target.variants();
        let sides = self.arguments.choice.sides(case).filter(applies);
        let plays = sides.flat_map(|role| variants.iter().map(move |variant| (role, variant)));
        let lost = plays.map(|(role, variant)| Played::lost(case, role, variant, why.to_owned()));
        lost.map(|played| self.judged(played)).collect()
    }

    /// With what is known of the product.
    fn judged(&self, mut played: Played) -> Played {
        if let Some(profile) = &self.profile {
            profile.judge(&mut played);
        }
        played
    }

    /// Plays until the end or a signal, which is returned.
    fn all(&mut self, chosen: &[&Case], lost: Option<(&Case, &str)>) -> Result<(Report, Option<u8>), Failed> {
        let mut progress = Progress::new(chosen.len(), self.arguments.verbose);
        if let Some((case, why)) = lost {
            progress.begin(&case.name);
            self.played = self.lost(case, why);
            progress.end(&self.played);
        }
        let mut signal = None;
        let mut left = chosen.len();
        for case in chosen {
            let known = (&*self.target, self.profile.as_ref());
            self.output.keep(|| report(known, self.catalogue, self.played.clone(), left))?;
            progress.begin(&case.name);
            match self.case(case) {
                Ok(plays) => {
                    progress.end(&plays);
                    let hangs = plays.iter().any(|played| played.subject_hangs);
                    self.played.extend(plays);
                    left -= 1;
                    if hangs {
                        break;
                    }
                }
                Err(caught) => {
                    progress.stop();
                    signal = Some(caught);
                    break;
                }
            }
        }
        progress.finish();
        let known = (&*self.target, self.profile.as_ref());
        let report = report(known, self.catalogue, std::mem::take(&mut self.played), left);
        self.output.finish(&report)?;
        Ok((report, signal))
    }

    /// All plays of a case, or the signal that came.
    fn case(&mut self, case: &Case) -> Result<Vec<Played>, u8> {
        let mut plays = Vec::new();
        let Some(entry) = cases::find(&case.name) else { return Ok(plays) };
        for role in self.arguments.choice.sides(case) {
            for (variant, name) in self.target.variants().iter().enumerate() {
                let lost = |why: String| Played::lost(case, role, name, why);
                let played = match self.stage.play(Job { case, entry, role, variant }) {
                    Ok(played) => played,
                    Err(Lost::Hangs) => lost("did not end: a call to the device does not return".into()),
                    Err(Lost::Panicked) => lost("the case panicked".into()),
                    Err(Lost::Signal(signal)) => return Err(u8::try_from(signal).unwrap_or(u8::MAX)),
                };
                plays.push(self.judged(played));
            }
        }
        Ok(plays)
    }
}

fn report(
    (target, profile): (&dyn Target, Option<&Profile>),
    catalogue: &Catalogue,
    played: Vec<Played>,
    left: usize,
) -> Report {
    let profile = profile
        .map(|profile| ProfileReport { name: profile.name.clone(), no_longer_found: profile.lost(&played) });
    Report::new(target.name(), target.variants(), catalogue, played).not_reaching(left).against(profile)
}
