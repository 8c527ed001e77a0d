//! Subjects that are not part of this program.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use super::super::Unable;
use super::rig::Subject;

/// One that is connected to.
#[derive(Debug)]
pub(super) struct Acceptor {
    at: SocketAddr,
}

impl Acceptor {
    pub(super) const fn at(at: SocketAddr) -> Self {
        Self { at }
    }
}

impl Subject for Acceptor {
    fn address(&self) -> SocketAddr {
        self.at
    }

    fn connect(&mut self, _: SocketAddr) -> Result<(), Unable> {
        Err(Unable::NotApplicable("the peer is connected to, it does not connect".into()))
    }
}

/// One that connects: by itself, or because a command makes it.
#[derive(Debug)]
pub(super) struct Initiator {
    at: SocketAddr,
    trigger: Option<String>,
    /// Commands that may still be running.
    running: Vec<Child>,
}

impl Initiator {
    pub(super) const fn to(at: SocketAddr, trigger: Option<String>) -> Self {
        Self { at, trigger, running: Vec::new() }
    }
}

impl Subject for Initiator {
    fn address(&self) -> SocketAddr {
        self.at
    }

    fn connect(&mut self, _: SocketAddr) -> Result<(), Unable> {
        let Some(trigger) = &self.trigger else { return Ok(()) };
        let mut command = Command::new("sh");
        command.args(["-c", trigger]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| Unable::Broken(format!("`{trigger}`: {error}")))?;
        self.running.push(child);
        Ok(())
    }
}

impl Drop for Initiator {
    fn drop(&mut self) {
        for child in &mut self.running {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
