//! Calls that wait: one connection, driven by whoever asks it for something. For tools and tests.
//!
//! A connection is driven only inside its calls. Messages that arrive while a call waits for something else are kept, up
//! to [`INBOX_MAX`] bytes; a peer that sends more to someone who does not [`recv`](Connection::recv) is cut off.

mod connection;
mod inbox;
#[cfg(all(test, feature = "kit"))]
mod tests;

use core::error::Error;

pub use connection::{Connection, Done};

use crate::Instant;
use crate::backend::Backend;

/// Bytes of messages that are kept for later calls.
pub const INBOX_MAX: usize = 64 << 20;

/// A backend that can wait.
pub trait Blocking: Backend {
    /// What goes wrong with the backend itself.
    type Error: Error;

    /// Waits until there may be something to do, at most until `until`.
    ///
    /// # Errors
    /// The system fails.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Self::Error>;
}

impl<B: Blocking> Blocking for &mut B {
    type Error = B::Error;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), B::Error> {
        (**self).wait(until)
    }
}
