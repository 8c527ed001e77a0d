//! Where cases are played: a thread of its own, so that neither a call to a device that does not return nor a panic takes
//! the run with it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use smbd_conformance::catalogue::{Case, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::{
    Choice, Entry, Liveness, Options, Played, Upper, comes_back, detect, is_alive, play,
};

/// How much longer than its limit a play may take before its thread is given up: destroying a queue pair takes up to a
/// minute on rxe.
const GRACE: Duration = Duration::from_secs(90);
/// How long a look at a peer may take, that grace apart: an initiator has 30 s to connect, then everybody 24 s.
const LOOK: Duration = Duration::from_secs(60);
/// How long it may take to find out what an upper layer does, that grace apart: a dozen connections, 20 s each at most.
const DETECT: Duration = Duration::from_secs(240);
/// How often is told that something goes on.
const TICK: Duration = Duration::from_secs(1);

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Job<'c> {
    /// The case.
    pub case: &'c Case,
    /// Its code.
    pub entry: &'static Entry,
    /// The side under test, and the variant of the target by its number.
    pub place: Place,
    /// What is known by the cases before.
    pub options: Options,
}

/// The side under test, and the variant of the target by its number.
pub type Place = (UnderTest, usize);

/// Why there is no result.
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
    /// One of the threads, by its number, has done what it was to do.
    Done(u32),
    Gone(u32),
    Signal(i32),
}

/// Makes the target: each thread has its own.
pub type Make = Arc<dyn Fn() -> Result<Box<dyn Target>, String> + Send + Sync>;

/// What a thread, which may outlive the run, is to do.
type Work = Box<dyn FnOnce(&mut dyn Target) + Send>;

/// Does one thing after the other.
pub struct Stage {
    make: Make,
    said: Sender<Heard>,
    heard: Receiver<Heard>,
    jobs: Option<Sender<Work>>,
    /// The number of the thread that plays.
    thread: u32,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl Stage {
    /// One on which nothing is played yet. From now on signals end the run and not the program.
    ///
    /// # Errors
    /// Signals cannot be caught.
    pub fn new(make: Make) -> io::Result<Self> {
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
        Ok(Self { make, said, heard, jobs: None, thread: 0 })
    }

    /// Plays one job. `tick` is called every second meanwhile.
    ///
    /// # Errors
    /// Why nothing is known of how it ended.
    pub fn play(&mut self, job: Job<'_>, tick: &mut dyn FnMut()) -> Result<Played, Lost> {
        let Job { case, entry, place: (role, variant), options } = job;
        let limit = options.limit.map(|limit| limit + case.time + GRACE);
        let case = case.clone();
        let work = move |target: &mut dyn Target| play(target, variant, (&case, entry), role, &options);
        self.does(limit, tick, work)
    }

    /// Looks whether the peer can be tested.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub fn look(&mut self, (role, variant): Place, upper: Upper) -> Result<Liveness, Lost> {
        self.does(Some(LOOK + GRACE), &mut || {}, move |target| is_alive(target, variant, role, &upper))
    }

    /// Waits for so long until it can; when that was.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub fn await_return(
        &mut self,
        (role, variant): Place,
        upper: Upper,
        within: Duration,
    ) -> Result<Option<Duration>, Lost> {
        let limit = Some(within + LOOK + GRACE);
        self.does(limit, &mut || {}, move |target| comes_back(target, variant, role, &upper, within))
    }

    /// Finds out what the upper layer does.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    pub fn detect(&mut self, role: UnderTest, choice: Choice) -> Result<Upper, Lost> {
        self.does(Some(DETECT + GRACE), &mut || {}, move |target| detect(target, role, &choice))
    }

    fn does<T: Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        tick: &mut dyn FnMut(),
        work: impl FnOnce(&mut dyn Target) -> T + Send + 'static,
    ) -> Result<T, Lost> {
        let (give, take) = mpsc::channel();
        let jobs = self.jobs.take().unwrap_or_else(|| self.begin());
        // A thread that is gone says so below; of one that was given up nobody takes anything.
        let _ = jobs.send(Box::new(move |target| {
            let _ = give.send(work(target));
        }));
        self.hear(limit, tick)?;
        self.jobs = Some(jobs);
        take.try_recv().map_err(|_| Lost::Panicked)
    }

    fn hear(&self, limit: Option<Duration>, tick: &mut dyn FnMut()) -> Result<(), Lost> {
        let mut waited = Duration::ZERO;
        loop {
            return match self.heard.recv_timeout(TICK) {
                Ok(Heard::Done(thread)) if thread == self.thread => Ok(()),
                Ok(Heard::Gone(thread)) if thread == self.thread => Err(Lost::Panicked),
                // Of a thread that was given up.
                Ok(Heard::Done(_) | Heard::Gone(_)) => continue,
                Ok(Heard::Signal(signal)) => Err(Lost::Signal(signal)),
                Err(RecvTimeoutError::Timeout) => {
                    waited += TICK;
                    if limit.is_none_or(|limit| waited < limit) {
                        tick();
                        continue;
                    }
                    Err(Lost::Hangs)
                }
                Err(RecvTimeoutError::Disconnected) => Err(Lost::Hangs),
            };
        }
    }

    fn begin(&mut self) -> Sender<Work> {
        self.thread += 1;
        let (sender, jobs) = mpsc::channel::<Work>();
        let make = Arc::clone(&self.make);
        let said = Said { thread: self.thread, to: self.said.clone() };
        thread::spawn(move || {
            // The caller has made the same one before.
            let Ok(mut target) = make() else { return };
            for work in jobs {
                work(&mut *target);
                said.done();
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
    fn done(&self) {
        // Nobody listens any more: the program ends.
        let _ = self.to.send(Heard::Done(self.thread));
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        let _ = self.to.send(Heard::Gone(self.thread));
    }
}
