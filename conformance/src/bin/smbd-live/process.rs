//! A program of this project in a process of its own: what it says, and what it takes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use smbd_verbs::Clock;

use crate::case::Failure;
use crate::ours::resources::{self, Held};
use crate::patience::PATIENCE;

/// How long resources may take to go after the connection that had them.
const SETTLE: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The program, and its output so far. Dropped, it is killed, and what it said is kept in the folder of the run.
#[derive(Debug)]
pub(crate) struct Process {
    program: &'static str,
    /// The file that its output is kept in, without `.log`.
    name: String,
    child: Child,
    log: Arc<Log>,
}

#[derive(Debug, Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    grown: Condvar,
}

impl Log {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory of its process in bytes, from `/proc/PID/status`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// What it has now (VmRSS).
    pub(crate) resident: u64,
    /// The most it had (VmHWM).
    pub(crate) peak: u64,
    /// What is pinned for the device (VmPin), a part of it.
    pub(crate) pinned: u64,
}

impl Process {
    /// Starts a program that is beside this one. What it says is kept in the folder of the run, as `NAME.log`.
    pub(crate) fn start(program: &'static str, name: String, arguments: &[&str]) -> Result<Self, Failure> {
        let path = std::env::current_exe()?.with_file_name(program);
        let mut command = Command::new(&path);
        let started = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("{}: {error}", path.display()))?;
        let output = child.stdout.take().ok_or("no output")?;
        let log = Arc::new(Log::default());
        let theirs = Arc::clone(&log);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                theirs.lines().push(line);
                theirs.grown.notify_all();
            }
        });
        Ok(Self { program, name, child, log })
    }

    /// How many lines it has said: where to look from on for what comes next.
    pub(crate) fn mark(&self) -> usize {
        self.log.lines().len()
    }

    /// Waits for a line with all of these words in it, after a mark.
    pub(crate) fn said(&self, mark: usize, words: &[&str]) -> Result<String, Failure> {
        self.said_in_a_way(mark, words, &[""])
    }

    /// The same, with one of these ways to say it.
    pub(crate) fn said_in_a_way(
        &self,
        mark: usize,
        words: &[&str],
        ways: &[&str],
    ) -> Result<String, Failure> {
        let clock = Clock::start();
        let until = clock.now().saturating_add(PATIENCE);
        let mut lines = self.log.lines();
        loop {
            let mut new = lines.iter().skip(mark);
            let is_it = |line: &str| {
                words.iter().all(|word| line.contains(word)) && ways.iter().any(|way| line.contains(way))
            };
            if let Some(line) = new.find(|line| is_it(line)) {
                return Ok(line.clone());
            }
            let left = until.saturating_since(clock.now());
            if left.is_zero() {
                let seen: Vec<_> = lines.iter().skip(mark).map(String::as_str).collect();
                return Err(format!(
                    "no line with {words:?} and one of {ways:?} in its log, only:\n{}",
                    seen.join("\n")
                )
                .into());
            }
            lines = self.log.grown.wait_timeout(lines, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The lines so far that have all of these words.
    pub(crate) fn lines(&self, words: &[&str]) -> Vec<String> {
        let lines = self.log.lines();
        let has_all = |line: &&String| words.iter().all(|word| line.contains(word));
        lines.iter().filter(has_all).cloned().collect()
    }

    /// How many lines after a mark have all of these words.
    pub(crate) fn count(&self, mark: usize, words: &[&str]) -> usize {
        let lines = self.log.lines();
        lines.iter().skip(mark).filter(|line| words.iter().all(|word| line.contains(word))).count()
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn memory(&self) -> Result<Memory, Failure> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> Result<u64, Failure> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next());
            Ok(number.ok_or_else(|| format!("no {name} in its status"))?.parse::<u64>()? * 1024)
        };
        Ok(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")?, pinned: field("VmPin:")? })
    }

    /// What it holds of the device and of the system.
    pub(crate) fn held(&self) -> Result<Held, Failure> {
        resources::held_by(self.child.id())
    }

    /// Waits until it serves nobody; what it holds then.
    pub(crate) fn settled(&self) -> Result<Held, Failure> {
        let clock = Clock::start();
        let until = clock.now().saturating_add(SETTLE);
        loop {
            let held = self.held()?;
            // One queue pair may be there for good, which works around siw; connections have more than one object.
            if held.get("mr").is_none_or(|count| *count == 0) {
                return Ok(held);
            }
            if clock.now() >= until {
                return Err(format!("{} still holds {held:?}", self.program).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until it holds no more than before, when it may still have held a connection that was over; how long that took.
    pub(crate) fn holds(&self, before: &Held) -> Result<Duration, Failure> {
        let clock = Clock::start();
        loop {
            let now = self.held()?;
            let time = clock.now().saturating_since(smbd_core::Instant::ORIGIN);
            let is_more = |(what, count): (_, &_)| before.get(what).is_none_or(|before| count > before);
            if !now.iter().any(is_more) {
                return Ok(time);
            }
            if time >= SETTLE {
                return Err(format!("{} held before: {before:?}; now: {now:?}", self.program).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks it to end in good order (SIGTERM).
    pub(crate) fn terminate(&self) -> Result<(), Failure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).ok_or("no process")?;
        Ok(kill_process(pid, Signal::TERM)?)
    }

    /// Ends it without a warning (SIGKILL).
    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for its end, which has to be a good one.
    pub(crate) fn wait(&mut self) -> Result<(), Failure> {
        let status: ExitStatus = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", self.program).into()) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Ok(folder) = std::env::var("OUT") {
            // For whoever reads the files of the run; a test does not depend on it.
            let file = Path::new(&folder).join(format!("{}.log", self.name));
            let _ = std::fs::write(file, self.log.lines().join("\n") + "\n");
        }
    }
}
