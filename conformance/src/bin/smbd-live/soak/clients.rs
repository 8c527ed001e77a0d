//! Clients as processes of their own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use smbd_verbs::Clock;

use super::client::{Done, Ended, Work};
use super::report::Report;
use crate::case::Failure;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Those that run.
pub(super) struct Clients {
    at: SocketAddr,
    program: PathBuf,
    next_seed: u64,
    running: Vec<Child>,
}

impl Clients {
    pub(super) fn new(at: SocketAddr, seed: u64) -> Result<Self, Failure> {
        let next_seed = seed.wrapping_mul(1_000_000);
        Ok(Self { at, program: std::env::current_exe()?, next_seed, running: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Starts one that does so much.
    pub(super) fn begin(&mut self, rounds: u64) -> Result<(), Failure> {
        self.next_seed += 1;
        let mut command = Command::new(&self.program);
        command.args(Work::arguments(self.at, self.next_seed, rounds));
        self.running.push(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?);
        Ok(())
    }

    /// Without a warning (SIGKILL).
    pub(super) fn kill(&mut self, which: usize) -> Result<(), Failure> {
        let mut child = self.running.swap_remove(which);
        let killed = child.kill();
        child.wait()?;
        killed?;
        Ok(())
    }

    /// Those that have ended by themselves.
    pub(super) fn ended(&mut self) -> Result<Vec<Ended>, Failure> {
        let mut ended = Vec::new();
        let mut at = 0;
        while let Some(child) = self.running.get_mut(at) {
            if child.try_wait()?.is_none() {
                at += 1;
                continue;
            }
            let output = self.running.swap_remove(at).wait_with_output()?;
            let (status, said) = (output.status, String::from_utf8_lossy(&output.stdout));
            ended.push(match Done::parse(&said) {
                Some(done) if status.success() => Ended::InOrder(done),
                _ => Ended::Failed(format!("{status}: {}", said.trim_end())),
            });
        }
        Ok(ended)
    }

    /// Lets all come to their end.
    pub(super) fn part(
        &mut self,
        within: Duration,
        report: &mut Report,
        excused: bool,
    ) -> Result<(), Failure> {
        let clock = Clock::start();
        let until = clock.now().saturating_add(within);
        while !self.running.is_empty() {
            for ended in self.ended()? {
                report.note(&ended, excused);
            }
            if clock.now() >= until {
                return Err(format!("{} clients do not end", self.running.len()).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
