//! `smbd-conformance run`: plays cases and reports.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::report::{About, NotReached, ProfileReport, Report};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::trace::Trace;
use smbd_conformance::suite::{Options, Played, cases};

use super::about::about;
use super::choice::{Choice, NONE};
use super::output::{Failed, Format, Output, complain, unwritten};
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
    /// With --format json: without the messages of each play, which are most of it; findings keep theirs
    #[arg(long)]
    no_messages: bool,
    /// Write it to a file instead, which has a report of what was played so far at any time; the counts are printed in any
    /// case (`-`: standard output)
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
    let (mut run, chosen, lost) = match Run::new(arguments, catalogue) {
        Ok(ready) => ready,
        Err(why) => {
            complain(&why);
            return ExitCode::from(USAGE);
        }
    };
    match run.all(&chosen, lost) {
        Ok((report, None)) if report.passed() => ExitCode::from(PASSED),
        Ok((_, None)) => ExitCode::from(FAILED),
        Ok((_, Some(signal))) => ExitCode::from(SIGNALLED.saturating_add(signal)),
        Err(failed) => unwritten(&failed),
    }
}

/// The case that ended an earlier run, and why it did.
type LostCase<'a> = (&'a Case, &'a str);

/// What a report is made with besides plays.
struct Known<'a> {
    arguments: &'a RunArgs,
    catalogue: &'a Catalogue,
    target: Box<dyn Target>,
    profile: Option<Profile>,
    about: About,
}

impl Known<'_> {
    /// What is known when these cases are left.
    fn report(&self, played: Vec<Played>, left: &[&Case]) -> Report {
        let profile = self.profile.as_ref().map(|profile| ProfileReport {
            name: profile.name.clone(),
            no_longer_found: profile.lost(&played),
        });
        let not_reached = left.iter().map(|case| NotReached {
            name: case.name.clone(),
            group: case.group.clone(),
            roles: self.arguments.choice.sides(case).map(|role| role.to_string()).collect(),
        });
        Report::new(self.target.name(), self.target.variants(), self.catalogue, played)
            .not_reaching(not_reached.collect())
            .against(profile)
            .made(self.about.clone())
    }
}

struct Run<'a> {
    known: Known<'a>,
    stage: Stage,
    output: Output,
    played: Vec<Played>,
}

impl<'a> Run<'a> {
    /// A run that has played nothing, what it is to play, and what it goes on behind.
    ///
    /// # Errors
    /// The command line is no good, as a sentence.
    fn new(
        arguments: &'a RunArgs,
        catalogue: &'a Catalogue,
    ) -> Result<(Self, Vec<&'a Case>, Option<LostCase<'a>>), String> {
        if arguments.no_messages && arguments.format != Format::Json {
            return Err("--no-messages is for --format json".into());
        }
        let target = arguments.target.target()?;
        let chosen: Vec<_> = arguments.choice.cases(catalogue).collect();
        let before = arguments.choice.before(catalogue)?;
        if chosen.is_empty() && arguments.lost.is_none() {
            return Err(NONE.into());
        }
        let is_real = arguments.target.is_real();
        let limit = arguments.limit.or(is_real.then_some(LIMIT)).map(Duration::from_secs);
        let profile = arguments.target.profile(catalogue)?;
        let about = about(is_real)?;
        let output = Output::new(arguments.format, arguments.output.clone())
            .map_err(|(name, error)| format!("{name}: {error}"))?;
        let options = Options { timers: !arguments.no_timers, limit };
        let stage =
            Stage::new(arguments.target.clone(), options).map_err(|error| format!("signals: {error}"))?;
        let known = Known { arguments, catalogue, target, profile, about };
        let run = Self { known, stage, output, played: Vec::new() };
        Ok((run, chosen, before.zip(arguments.lost.as_deref())))
    }

    /// The plays of a case that ended an earlier run.
    fn lost(&self, case: &Case, why: &str) -> Vec<Played> {
        let applies = |role: &UnderTest| self.known.target.lacks(*role, None).is_none();
        let variants = self.known.target.variants();
        let sides = self.known.arguments.choice.sides(case).filter(applies);
        let plays = sides.flat_map(|role| variants.iter().map(move |variant| (role, variant)));
        let lost = plays.map(|(role, variant)| Played::lost(case, role, variant, why.to_owned()));
        lost.map(|played| self.judged(played)).collect()
    }

    /// With what is known of the product, and without what is not wanted.
    fn judged(&self, mut played: Played) -> Played {
        if let Some(profile) = &self.known.profile {
            profile.judge(&mut played);
        }
        if self.known.arguments.no_messages {
            played.trace = Trace::default();
        }
        played
    }

    /// Plays until the end or a signal, which is returned.
    fn all(&mut self, chosen: &[&Case], lost: Option<LostCase<'_>>) -> Result<(Report, Option<u8>), Failed> {
        let mut progress = Progress::new(chosen.len(), self.known.arguments.verbose);
        if let Some((case, why)) = lost {
            progress.begin(&case.name);
            self.played = self.lost(case, why);
            progress.end(&self.played);
        }
        let mut signal = None;
        let mut left = chosen;
        while let [case, behind @ ..] = left {
            self.output.keep(|| self.known.report(self.played.clone(), left))?;
            progress.begin(&case.name);
            match self.case(case) {
                Ok(plays) => {
                    progress.end(&plays);
                    let hangs = plays.iter().any(|played| played.subject_hangs);
                    self.played.extend(plays);
                    left = behind;
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
        let report = self.known.report(std::mem::take(&mut self.played), left);
        self.output.finish(&report)?;
        Ok((report, signal))
    }

    /// All plays of a case, or the signal that came.
    fn case(&mut self, case: &Case) -> Result<Vec<Played>, u8> {
        let mut plays = Vec::new();
        let Some(entry) = cases::find(&case.name) else { return Ok(plays) };
        for role in self.known.arguments.choice.sides(case) {
            for (variant, name) in self.known.target.variants().iter().enumerate() {
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
