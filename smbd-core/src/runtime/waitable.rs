use core::error::Error;

use crate::backend::Backend;

/// A backend that can be waited for together with others: it can be asked to wake whoever waits for it.
///
/// How it does that, a file descriptor or something else, is between the backend and who waits.
pub trait Waitable: Backend {
    /// What goes wrong with the backend itself.
    type Error: Error;

    /// To be called before sleeping: from now on the backend wakes its waiter when it has something to say. `true` if
    /// there is something to say already: drive again, and do not sleep.
    ///
    /// # Errors
    /// The device does not answer.
    fn arm(&mut self) -> Result<bool, Self::Error>;

    /// Whether there is something to say at once, without a system call.
    fn is_ready(&mut self) -> bool;

    /// How long looking at [`is_ready`](Self::is_ready) before sleeping may be worth it, in microseconds.
    fn busy_poll_micros_max(&self) -> u64;
}
