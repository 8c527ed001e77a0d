//! A peer in a process of its own, to be killed.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::ValueEnum;
use smbd_verbs::ListenOptions;

use super::serving::Serving;
use super::traffic::{self, Traffic};
use crate::case::Failure;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Connects and works without end.
    Client,
    /// Serves.
    Server,
}

/// What the process says when it is in the middle of its work.
const READY: &str = "ready";

/// The process itself: this program with a hidden command.
pub(crate) fn run(part: Part, at: SocketAddr) -> Result<(), Failure> {
    let config = traffic::config()?;
    match part {
        Part::Server => {
            let _serving = Serving::start(at, &config, ListenOptions::default())?;
            ready()?;
            loop {
                thread::park();
            }
        }
        Part::Client => {
            let mut traffic = Traffic::begin(at, &config)?;
            traffic.round()?;
            ready()?;
            loop {
                traffic.round()?;
            }
        }
    }
}

fn ready() -> Result<(), Failure> {
    println!("{READY}");
    Ok(std::io::stdout().flush()?)
}

/// A process that dies with this value.
#[derive(Debug)]
pub(crate) struct Victim(Child);

impl Victim {
    /// Started, and in the middle of its work.
    pub(crate) fn start(part: Part, at: SocketAddr) -> Result<Self, Failure> {
        let mut victim = Self::begin(part, at)?;
        let output = victim.0.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.trim_end() != READY {
            return Err("the peer's process did not get ready".into());
        }
        Ok(victim)
    }

    /// Only started.
    pub(crate) fn begin(part: Part, at: SocketAddr) -> Result<Self, Failure> {
        let part = part.to_possible_value().ok_or("no such part")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["victim", part.get_name(), &at.to_string()]);
        Ok(Self(command.stdout(Stdio::piped()).spawn()?))
    }

    /// Without a warning (SIGKILL); returns when it is gone.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
