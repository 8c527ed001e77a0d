//! The signals of a program that serves.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both.
#[derive(Debug)]
pub struct Signals {
    /// It has to stop.
    pub stop: Stop,
    /// It has to read its settings again: SIGHUP.
    pub reload: Signal,
}

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Stop {
    term: Signal,
    int: Signal,
}

impl Signals {
    /// From now on they do not end the process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<Self> {
        Ok(Self { stop: Stop::new()?, reload: signal(SignalKind::hangup())? })
    }
}

impl Stop {
    /// From now on they do not end the process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn new() -> io::Result<Self> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    /// Waits for one. This method is cancel safe.
    pub async fn came(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}
