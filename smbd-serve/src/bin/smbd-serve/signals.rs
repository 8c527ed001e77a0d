//! What tells the program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::trouble::Trouble;

/// SIGTERM and SIGINT.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on they are told, and end nothing by themselves.
    pub(crate) fn new() -> Result<Self, Trouble> {
        let of = |kind| signal(kind).map_err(|error| Trouble::Failed(error.to_string()));
        Ok(Self { terminate: of(SignalKind::terminate())?, interrupt: of(SignalKind::interrupt())? })
    }

    /// The next of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
