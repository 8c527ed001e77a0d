//! Where cases are played: a thread of its own, so that neither a call to a device that does not return nor a panic takes
//! the run with it.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use smbd_conformance::catalogue::{Case, UnderTest};
use smbd_conformance::suite::{Entry, Options, Played, play};

use super::target::TargetArgs;

/// How much longer than its limit a play may take before its thread is given up: destroying a queue pair takes up to a
/// minute on rxe.
const GRACE: Duration = Duration::from_secs(90);

/// What is to be played.
#[derive(Clone, Copy, Debug)]
pub struct Job<'c> {
    /// The case.
    pub case: &'c Case,
    /// Its code.
    pub entry: &'static Entry,
    /// The side under test.
    pub role: UnderTest,
    /// The variant of the target, by its number.
    pub variant: usize,
}

/// Why a play has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It takes too long and does not look at the time.
    Hangs,
    /// It panicked.
    Panicked,
    /// The program was told to end by this signal.
    Signal(i32),
}

enum Heard {
    /// By which of the threads, what.
    Played(u32, Box<Played>),
    Gone(u32),
    Signal(i32),
}

/// The job of a thread, which may outlive the run.
struct Owned {
    case: Case,
    entry: &'static Entry,
    role: UnderTest,
    variant: usize,
}

/// Plays one job after the other.
#[derive(Debug)]
pub struct Stage {
    target: TargetArgs,
    options: Options,
    said: Sender<Heard>,
    heard: Receiver<Heard>,
    jobs: Option<Sender<Owned>>,
    /// The number of the thread that plays.
    thread: u32,
}

impl Stage {
    /// One on which nothing is played yet. From now on signals end the run and not the program.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub fn new(target: TargetArgs, options: Options) -> io::Result<Self> {
        let (said, heard) = mpsc::channel();
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let caught = said.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                if caught.send(Heard::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        Ok(Self { target, options, said, heard, jobs: None, thread: 0 })
    }

    /// Plays one job.
    ///
    /// # Errors
    /// Why nothing is known of how it ended.
    pub fn play(&mut self, job: Job<'_>) -> Result<Played, Lost> {
        let Job { case, entry, role, variant } = job;
        let jobs = self.jobs.take().unwrap_or_else(|| self.begin());
        // A thread that is gone says so below.
        let _ = jobs.send(Owned { case: case.clone(), entry, role, variant });
        let limit = self.options.limit.map(|limit| limit + case.time + GRACE);
        let result = self.hear(limit);
        if result.is_ok() {
            self.jobs = Some(jobs);
        }
        result
    }

    fn hear(&self, limit: Option<Duration>) -> Result<Played, Lost> {
        loop {
            let heard = match limit {
                Some(limit) => self.heard.recv_timeout(limit),
                None => self.heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            return match heard {
                Ok(Heard::Played(thread, played)) if thread == self.thread => Ok(*played),
                Ok(Heard::Gone(thread)) if thread == self.thread => Err(Lost::Panicked),
                // Of a thread that was given up.
                Ok(Heard::Played(..) | Heard::Gone(_)) => continue,
                Ok(Heard::Signal(signal)) => Err(Lost::Signal(signal)),
                Err(_) => Err(Lost::Hangs),
            };
        }
    }

    fn begin(&mut self) -> Sender<Owned> {
        self.thread += 1;
        let (sender, jobs) = mpsc::channel::<Owned>();
        let (target, options) = (self.target.clone(), self.options);
        let said = Said { thread: self.thread, to: self.said.clone() };
        thread::spawn(move || {
            // The caller has made the same one before.
            let Ok(mut target) = target.target() else { return };
            for Owned { case, entry, role, variant } in jobs {
                said.played(play(&mut *target, variant, (&case, entry), role, options));
            }
        });
        sender
    }
}

/// Says, when its thread ends, that nothing more will come of it.
struct Said {
    thread: u32,
    to: Sender<Heard>,
}

impl Said {
    fn played(&self, played: Played) {
        // Nobody listens any more: the program ends.
        let _ = self.to.send(Heard::Played(self.thread, Box::new(played)));
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.to.send(Heard::Gone(self.thread));
    }
}
