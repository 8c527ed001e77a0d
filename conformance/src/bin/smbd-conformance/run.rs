//! `smbd-conformance run`: plays cases and reports.

mod first;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::report::{About, Gone, NotReached, ProfileReport, Report, Which};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::trace::Trace;
use smbd_conformance::suite::{Entry, Options, Played, cases};
use smbd_tools::tool;

use super::about::about;
use super::choice::{Choice, NONE};
use super::output::{Failed, Format, Output, complain, unwritten};
use super::peers::{Ended, Peers, may_be_gone, trouble};
use super::progress::Progress;
use super::stage::{Job, Lost, Make, Place, Stage};
use super::target::TargetArgs;
use super::{FAILED, NOT_JUDGED, PASSED, SIGNALLED, USAGE};

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
    /// Most seconds a play may take beyond the time that its case waits for timers; over a device 180 unless said otherwise.
    /// A play that is not over then comes to no verdict, unless it has found something before
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: Option<u64>,
    /// How long a peer that takes no connections any more is waited for, until the run ends; a service manager may start it
    /// again
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=86_400))]
    restart_wait: u64,
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
    /// Say when each case begins, every 10 s what it waits for, and how it ended, on a terminal, too
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
    let reached = match run.reach(&chosen) {
        Ok(None) => run.look_at_upper_layers(),
        unreached => unreached,
    };
    match reached {
        Ok(None) => {}
        Ok(Some((what, advice))) => {
            tool::complain(&format!("smbd-conformance: {what}"), advice.as_deref());
            return ExitCode::from(USAGE);
        }
        Err(signal) => return signalled(signal),
    }
    match run.all(&chosen, lost) {
        Ok((report, None)) if report.passed() && !report.judged() => ExitCode::from(NOT_JUDGED),
        Ok((report, None)) if report.passed() => ExitCode::from(PASSED),
        Ok((_, None)) => ExitCode::from(FAILED),
        Ok((_, Some(signal))) => signalled(signal),
        Err(failed) => unwritten(&failed),
    }
}

fn signalled(signal: i32) -> ExitCode {
    ExitCode::from(SIGNALLED.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX)))
}

/// The case that ended an earlier run, and why it did.
type LostCase<'a> = (&'a Case, &'a str);

/// What a report is made with besides plays.
struct Known<'a> {
    arguments: &'a RunArgs,
    catalogue: &'a Catalogue,
    target: Box<dyn Target>,
    profile: Option<Profile>,
    /// What the upper layers were found to do.
    upper_layers: Vec<String>,
    about: About,
}

impl Known<'_> {
    /// Whether the peer is more than a part of this program in virtual time: it may not be there, and waiting for it costs.
    fn is_apart(&self) -> bool {
        self.target.persists() || self.arguments.target.is_real()
    }

    /// What is known when these cases are left.
    fn report(&self, played: Vec<Played>, left: &[&Case], peers: &Peers) -> Report {
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
            .on(self.upper_layers.clone())
            .telling(peers.facts())
            .made(self.about.clone())
    }
}

/// A peer that cannot be tested, and what to check.
type Unreached = (String, Option<String>);

/// A run.
pub(super) struct Run<'a> {
    known: Known<'a>,
    options: Options,
    stage: Stage,
    peers: Peers,
    output: Output,
    played: Vec<Played>,
}

/// Why no further case is played.
enum End {
    Signal(i32),
    /// The peer is gone, or of no use. The plays of the case so far.
    NoPeer(Vec<Played>),
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
        let target = arguments.target.clone();
        Self::against(arguments, catalogue, Arc::new(move || target.target()))
    }

    /// The same against any target.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn against(
        arguments: &'a RunArgs,
        catalogue: &'a Catalogue,
        make: Make,
    ) -> Result<(Self, Vec<&'a Case>, Option<LostCase<'a>>), String> {
        if arguments.no_messages && arguments.format != Format::Json {
            return Err("--no-messages is for --format json".into());
        }
        let target = make()?;
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
        let options = Options { timers: !arguments.no_timers, limit, ..Options::default() };
        let stage = Stage::new(make).map_err(|error| format!("signals: {error}"))?;
        let known = Known { arguments, catalogue, target, profile, upper_layers: Vec::new(), about };
        let run = Self { known, options, stage, peers: Peers::default(), output, played: Vec::new() };
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
    pub(super) fn all(
        &mut self,
        chosen: &[&Case],
        lost: Option<LostCase<'_>>,
    ) -> Result<(Report, Option<i32>), Failed> {
        let mut progress = Progress::new(chosen.len(), self.known.arguments.verbose);
        if let Some((case, why)) = lost {
            progress.begin(&case.name);
            self.played = self.lost(case, why);
            progress.end(&self.played);
        }
        let mut signal = None;
        let mut left = chosen;
        while let [case, behind @ ..] = left {
            self.output.keep(|| self.known.report(self.played.clone(), left, &self.peers))?;
            progress.begin(&case.name);
            match self.case(case, &mut progress) {
                Ok(plays) => {
                    progress.end(&plays);
                    self.played.extend(plays);
                    left = behind;
                }
                Err(End::NoPeer(plays)) => {
                    progress.end(&plays);
                    self.played.extend(plays);
                    left = behind;
                    break;
                }
                Err(End::Signal(caught)) => {
                    progress.stop();
                    signal = Some(caught);
                    break;
                }
            }
        }
        progress.finish();
        let report = self.known.report(std::mem::take(&mut self.played), left, &self.peers);
        self.output.finish(&report)?;
        Ok((report, signal))
    }

    /// All plays of a case.
    fn case(&mut self, case: &Case, progress: &mut Progress) -> Result<Vec<Played>, End> {
        let mut plays = Vec::new();
        let Some(entry) = cases::find(&case.name) else { return Ok(plays) };
        for role in self.known.arguments.choice.sides(case) {
            for (variant, name) in self.known.target.variants().iter().enumerate() {
                let mut played = self.play((case, entry), (role, variant), name, progress)?;
                if self.known.is_apart() {
                    self.peers.learn(role, &played);
                }
                let there = self.look_after(&mut played, &mut plays, (role, variant), progress)?;
                plays.push(self.judged(played));
                if !there {
                    return Err(End::NoPeer(plays));
                }
            }
        }
        Ok(plays)
    }

    fn play(
        &mut self,
        (case, entry): (&Case, &'static Entry),
        place: Place,
        variant: &str,
        progress: &mut Progress,
    ) -> Result<Played, End> {
        let no_credits = self.peers.no_credits(place.0, variant);
        let options = Options { no_credits, ..self.options.clone() };
        let watch = options.watch.clone();
        let mut tick = || progress.goes_on(watch.waits_for());
        let lost = |why: &str| Ok(Played::lost(case, place.0, variant, why.to_owned()));
        match self.stage.play(Job { case, entry, place, options }, &mut tick) {
            Ok(played) => Ok(played),
            Err(Lost::Hangs) => lost("did not end: a call to the device does not return"),
            Err(Lost::Panicked) => lost("the case panicked"),
            Err(Lost::Signal(signal)) => Err(End::Signal(signal)),
        }
    }

    /// Whether the peer is still of use behind a play: it lives, or is back in the time that it is given. What has ended it,
    /// this play or one before, is told.
    fn look_after(
        &mut self,
        played: &mut Played,
        plays: &mut [Played],
        place: Place,
        progress: &mut Progress,
    ) -> Result<bool, End> {
        if !self.known.target.persists() || !may_be_gone(place, played) {
            self.peers.lives_after(played);
            return Ok(!played.subject_hangs);
        }
        let said_nothing = Gone::after(played).is_none();
        let upper = self.options.uppers.of(place.0).clone();
        let Some(why) = trouble(self.stage.look(place, upper.clone())).map_err(End::Signal)? else {
            self.peers.lives_after(played);
            // One that did not connect, and does now, is of use.
            return Ok(!played.subject_hangs || said_nothing);
        };
        match self.peers.is_gone_after(played, why.clone()) {
            Ended::ByThis => played.ended_the_peer(&why),
            Ended::Before(which) => {
                played.met_no_peer(&why);
                let before = plays.iter_mut().chain(&mut self.played);
                if let Some(before) = before.into_iter().find(|before| Which::of(before) == which) {
                    before.ended_the_peer(&why);
                }
            }
        }
        let wait = self.known.arguments.restart_wait;
        progress.note(&format!("the peer is gone ({why}); it has {wait} s to come back"));
        let back = match self.stage.await_return(place, upper, Duration::from_secs(wait)) {
            Ok(back) => back,
            Err(Lost::Signal(signal)) => return Err(End::Signal(signal)),
            Err(Lost::Hangs | Lost::Panicked) => None,
        };
        self.peers.is_back(back);
        progress.note(match back {
            Some(_) => "the peer is back",
            None => "the peer did not come back: the run ends",
        });
        Ok(back.is_some())
    }
}
