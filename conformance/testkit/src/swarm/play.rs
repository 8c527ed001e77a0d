//! How a run goes on to its end, and what is told of it.

use std::process::ExitCode;
use std::time::Duration;

use smbd_core::Instant;
use smbd_program::output::write;
use smbd_sim::oracle::Failure;
use smbd_sim::trace::Trace;

use super::notes::{Notes, OfPair};
use super::place::{play_on, touched};
use crate::Breach;

/// Longer than any run takes, in virtual time.
const LONGEST: Duration = Duration::from_secs(7200);

/// More turns than any run takes.
#[derive(Clone, Copy, Debug)]
pub struct TooLong(pub u32);

/// How much is to be seen of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// How it ends.
    Nothing,
    /// All steps, and the trace.
    All,
}

impl Show {
    /// A trace, if it is wanted.
    pub fn trace(self) -> Option<Trace> {
        (self == Self::All).then(Trace::kept)
    }
}

/// What came of a run, whatever was played.
#[derive(Debug)]
pub struct Played {
    /// The first law that was broken.
    pub breach: Option<Breach>,
    /// Everything that was planned was done.
    pub is_done: bool,
    /// Faults, in the order of [`FaultKind::ALL`](smbd_sim::swarm::FaultKind::ALL).
    pub faults: Vec<u64>,
    /// The digest of its trace; 0 if nothing was to be seen.
    pub digest: u64,
    /// Its steps, and its trace.
    pub text: String,
}

/// Plays until all tasks have ended, a law is broken, or it takes too long. `look` has the laws of each turn, `judge` those of the end.
/// A law of the devices whose breach `is_excused` is none.
pub fn play<T>(
    notes: &Notes<OfPair<T>>,
    too_long: TooLong,
    look: impl Fn() -> Result<(), Breach>,
    judge: impl FnOnce() -> Result<(), Breach>,
    is_excused: impl Fn(&Failure) -> bool,
) -> Played {
    let stage = notes.stage();
    let longest = Instant::ORIGIN.saturating_add(LONGEST);
    let mut turns = 0;
    let mut goes_on = || {
        turns += 1;
        turns < too_long.0 && stage.now() < longest && stage.turn()
    };
    while stage.tasks() > 0 && notes.seen().breach.is_none() && goes_on() {
        notes.judge(look());
        if touched() > 0 {
            notes.judge(Err("end of access: memory is touched that is open to the peer".into()));
        }
    }
    notes.step(|| stage.story());
    if notes.seen().breach.is_none() && stage.failure().is_none() {
        let judged = judge();
        notes.judge(judged);
    }
    stage.clear();
    // What the devices and connections have seen comes first.
    let verdict = stage.verdict().filter(|failure| !is_excused(failure));
    let verdict = verdict.map(|failure| failure.to_string());
    let (digest, trace) = stage.trace().unwrap_or_default();
    play_on(None);
    let seen = notes.seen();
    Played {
        breach: seen.breach.clone().or(verdict),
        is_done: seen.is_done,
        faults: stage.faults(),
        digest,
        text: seen.steps.iter().flatten().map(|step| format!("{step}\n")).collect::<String>() + &trace,
    }
}

impl Played {
    /// Prints all of it, with how it ended. What a program ends with.
    ///
    /// # Errors
    /// The text for a person, if standard output cannot be written.
    pub fn print(&self, seed: u64, ended: &str) -> Result<ExitCode, String> {
        let (text, done, digest) = (&self.text, self.is_done, self.digest);
        write(&format!("{text}{ended}; everything done: {done}\ndigest {digest:016x}\n"))?;
        match &self.breach {
            Some(breach) => write(&format!("seed {seed}: {breach}\n")).map(|()| ExitCode::FAILURE),
            None => Ok(ExitCode::SUCCESS),
        }
    }
}
