//! Subjects that are not part of this program.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::Subject;
use crate::suite::rig::Unable;

/// One that is connected to.
#[derive(Debug)]
pub(super) struct Acceptor;

impl Subject for Acceptor {
    fn connect(&mut self) -> Result<(), Unable> {
        Err(Unable::NotApplicable("the peer is connected to, it does not connect".into()))
    }
}

/// What makes an initiator connect, and what ends that again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// For the shell, run for each connection; it may go on for as long as there is one. What it starts in the background is not
    /// waited for. `None`: the initiator connects by itself.
    pub begin: Option<String>,
    /// For the shell, run when a connection is done with, after the first command and all it has started were killed: what
    /// it left, such as a mount, is undone here. It is given 30 s.
    pub end: Option<String>,
}

/// How long a command that ends something may take.
const END_TIME: Duration = Duration::from_secs(30);

/// One that connects: by itself, or because a command makes it.
#[derive(Debug)]
pub(super) struct Initiator {
    trigger: Trigger,
    /// Commands that were begun.
    begun: Vec<Begun>,
    /// The last of them is one that makes the initiator connect, and was not ended.
    is_triggered: bool,
}

impl Initiator {
    pub(super) const fn by(trigger: Trigger) -> Self {
        Self { trigger, begun: Vec::new(), is_triggered: false }
    }
}

/// A command in a process group of its own, so that what it has started can be ended with it. It has ended when all of that has: a
/// shell that is killed ends at once, and a mount that it has begun may be in the kernel for longer.
#[derive(Debug)]
struct Begun {
    child: Child,
    /// Readable when the shell has ended.
    process: OwnedFd,
    /// Readable when nobody has the other end any more, which is the input of the shell and of what it has started.
    input: OwnedFd,
}

impl Begun {
    fn new(line: &str) -> Result<Self, Unable> {
        let broken = |error: io::Error| Unable::Broken(format!("`{line}`: {error}"));
        let (input, its_end) = UnixStream::pair().map_err(broken)?;
        // Whoever reads it finds its end.
        input.shutdown(Shutdown::Write).map_err(broken)?;
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(OwnedFd::from(its_end)).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.process_group(0).spawn().map_err(broken)?;
        let process = pid(&child).ok_or(Errno::SRCH).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let process = process.map_err(|error| broken(error.into()))?;
        Ok(Self { child, process, input: input.into() })
    }

    /// As long as it was not waited for, nobody else has its number.
    fn kill(&self) {
        if let Some(group) = pid(&self.child) {
            // All of it may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Whether it has ended, for which shell and other processes are given this time each.
    fn has_ended(&self, within: Duration) -> bool {
        let is_over = |fd| is_readable(fd, within);
        is_over(&self.process) && is_over(&self.input)
    }

    /// Readable when it has ended; the other one may be so before.
    fn fd(&self) -> BorrowedFd<'_> {
        let of = if is_readable(&self.process, Duration::ZERO) { &self.input } else { &self.process };
        of.as_fd()
    }

    /// Lets it come to its end, but not for ever: what hangs in the kernel is left to it.
    fn finish(mut self, within: Duration) {
        let ended = self.has_ended(within);
        self.kill();
        if ended {
            let _ = self.child.wait();
        }
    }
}

fn is_readable(fd: &OwnedFd, within: Duration) -> bool {
    let limit = Timespec { tv_sec: within.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: 0 };
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready > 0)
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

impl Subject for Initiator {
    fn connect(&mut self) -> Result<(), Unable> {
        let Some(line) = self.trigger.begin.clone() else { return Ok(()) };
        let (ended, running) =
            self.begun.drain(..).partition::<Vec<_>, _>(|begun| begun.has_ended(Duration::ZERO));
        self.begun = running;
        ended.into_iter().for_each(|begun| begun.finish(Duration::ZERO));
        self.is_triggered = true;
        self.begun.push(Begun::new(&line)?);
        Ok(())
    }

    fn connects_unasked(&self) -> bool {
        self.trigger.begin.is_none()
    }

    fn speaks(&self) -> bool {
        true
    }

    /// Both at once: what hangs in a mount may be let go only when that is undone.
    fn end(&mut self) {
        if !std::mem::take(&mut self.is_triggered) {
            return;
        }
        if let Some(last) = self.begun.last() {
            last.kill();
        }
        // A shell that cannot be started now could not be when the command before was, either.
        self.begun.extend(self.trigger.end.as_ref().and_then(|line| Begun::new(line).ok()));
    }

    fn has_ended(&self) -> bool {
        self.begun.iter().all(|begun| begun.has_ended(Duration::ZERO))
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let running = self.begun.iter().filter(|begun| !begun.has_ended(Duration::ZERO));
        running.map(Begun::fd).collect()
    }
}

impl Drop for Initiator {
    fn drop(&mut self) {
        // Who was told to end before was waited for.
        let time = if self.is_triggered { END_TIME } else { Duration::ZERO };
        self.end();
        for begun in self.begun.drain(..) {
            begun.finish(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_command_has_ended_when_all_of_its_processes_have() {
        // The shell is killed, and a process that it has started goes on.
        let begun = Begun::new("(kill -KILL $$; sleep 1000; :); :").unwrap();
        assert!(is_readable(&begun.process, LONG));
        assert!(!begun.has_ended(Duration::ZERO));
        begun.kill();
        assert!(begun.has_ended(LONG));
        begun.finish(Duration::ZERO);
    }

    #[test]
    fn the_input_of_a_command_is_empty() {
        let begun = Begun::new("cat").unwrap();
        assert!(begun.has_ended(LONG));
        begun.finish(Duration::ZERO);
    }
}
