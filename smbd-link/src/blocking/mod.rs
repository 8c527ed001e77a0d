//! Blocking calls for one connection, for tools and tests.
//!
//! A connection is driven only inside its calls. Messages that arrive while a call waits for something else are kept
//! for [`recv`](Connection::recv), up to [`INBOX_MAX`] bytes. If the peer sends more, the connection is aborted.

mod connection;
mod memory;
#[cfg(test)]
mod tests;

use std::error::Error;

pub use connection::Connection;
pub use memory::{Done, Operation};

use smbd_core::Instant;
use smbd_core::backend::Backend;

/// Most bytes of messages that a connection keeps for later calls of [`recv`](Connection::recv).
pub const INBOX_MAX: usize = 64 << 20;

/// A backend that can block the thread until it has input.
pub trait Blocking: Backend {
    /// The error of the backend itself.
    type Error: Error + Clone;

    /// Blocks until the backend may have input, or until the time `until` on its clock; without limit if that is
    /// `None`. It may return early.
    ///
    /// # Errors
    /// The device does not answer, or a system call fails.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Self::Error>;
}

impl<B: Blocking> Blocking for &mut B {
    type Error = B::Error;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), B::Error> {
        (**self).wait(until)
    }
}
