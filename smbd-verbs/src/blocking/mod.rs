//! Calls that wait: one connection, driven by whoever asks it for something. For tools and tests.
//!
//! A connection is driven only inside its calls. Messages that arrive while a call waits for something else are kept, up
//! to [`INBOX_MAX`] bytes; a peer that sends more to someone who does not [`recv`](Connection::recv) is cut off.

mod connection;
mod inbox;
#[cfg(test)]
mod tests;

use smbd_core::Instant;
use smbd_core::backend::{DriveError, HostMemory};
use smbd_core::error::{
    Aborted, CloseReason, CommandError, ConnectError, OpError, ProbeError, RdmaError, RegisterError,
    RegistrationError, SendError,
};
use thiserror::Error as ThisError;

pub use connection::{Connection, Registration};

use crate::{Error, VerbsConnection};

/// Bytes of messages that are kept for later calls.
pub const INBOX_MAX: usize = 64 << 20;

/// A backend that can wait.
pub trait Blocking: HostMemory {
    /// Waits until there may be something to do, at most until `until`.
    ///
    /// # Errors
    /// The system fails.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error>;
}

/// A call did not bring what was asked for.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Failure {
    /// The connection did not come up.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection has ended.
    #[error("connection ended: {0}")]
    Closed(CloseReason),
    /// Nothing came in time.
    #[error("nothing came in time")]
    TimedOut,
    /// The message cannot be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The RDMA operation cannot be done.
    #[error(transparent)]
    Rdma(#[from] RdmaError),
    /// The RDMA operation failed.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The buffer cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The registration failed.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The command is not possible now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The probe failed.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The command was given up because the connection ended.
    #[error(transparent)]
    Aborted(#[from] Aborted),
    /// This side broke a contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The system or the device failed.
    #[error(transparent)]
    Verbs(#[from] Error),
}

impl<B: Blocking> Blocking for &mut B {
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        (**self).wait(until)
    }
}

impl Blocking for VerbsConnection {
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        self.wait_until(until)
    }
}
