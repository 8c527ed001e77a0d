use std::error::Error;
use std::task::{Context, Poll};

use smbd_core::Instant;
use smbd_core::backend::Backend;

/// A backend that an async task can wait for.
pub trait PollReady: Backend {
    /// The error of the backend itself.
    type Error: Error + Clone;

    /// Returns `Ready` if the backend may have input, or the time `until` on its clock has come. Otherwise it returns
    /// `Pending` and wakes the task of `cx` when one of these is the case. It may be ready without input. Without
    /// `until` there is no time limit.
    ///
    /// # Errors
    /// The device does not answer, or a system call fails.
    fn poll_ready(
        &mut self,
        cx: &mut Context<'_>,
        until: Option<Instant>,
    ) -> Poll<Result<(), <Self as PollReady>::Error>>;
}
