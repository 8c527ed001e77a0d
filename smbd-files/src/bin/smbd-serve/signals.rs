//! What tells the program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::trouble::Trouble;

/// A file that would be longer than RLIMIT_FSIZE allows is an error of the write then (EFBIG), and not the end of the program. Needs a
/// runtime.
pub(crate) fn outlive_limits() -> Result<(), Trouble> {
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    // The handler stays, also without anybody who waits for the signal.
    signal(kind).map(drop).map_err(|error| Trouble::Failed(error.to_string()))
}

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
