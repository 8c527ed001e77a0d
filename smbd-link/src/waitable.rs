use std::error::Error;

use smbd_core::backend::Backend;

/// A backend that can be waited for together with other backends: it can be armed to wake its waiter.
///
/// The backend and its waiter agree on the means, for example a file descriptor.
pub trait Waitable: Backend {
    /// The error of the backend itself.
    type Error: Error;

    /// Arms the backend: from now on it wakes its waiter when it has input. Returns at once. Call it before each wait.
    /// Returns `true` if the backend has input already; drive it then instead of waiting.
    ///
    /// # Errors
    /// The device does not answer.
    fn arm(&mut self) -> Result<bool, Self::Error>;

    /// Whether the backend has input now. Returns at once and makes no system call.
    fn is_ready(&mut self) -> bool;

    /// The longest time for which polling [`is_ready`](Self::is_ready) before a wait is useful, in microseconds.
    fn busy_poll_micros_max(&self) -> u64;
}
