//! A connection that has no user any more.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_core::backend::drive;
use smbd_core::{Close, Endpoint};
use smbd_link::handles::PollReady;
use smbd_link::{Failure, Messages};

use super::upper::Upper;

/// Turns of one poll. After them the task yields to other tasks.
pub(super) const TURNS_MAX: u32 = 4;

/// A machine and its backend.
pub(super) struct Line<B, C> {
    pub(super) machine: C,
    pub(super) backend: B,
}

/// What came of a turn.
pub(super) enum Turn {
    Again,
    Asleep,
    Over,
}

impl<B: PollReady, C: Messages> Line<B, C> {
    /// Drives it, and has the task woken if that is all for now.
    pub(super) fn turn(
        &mut self,
        upper: &mut Upper<B::Buffer>,
        cx: &mut Context<'_>,
    ) -> Result<Turn, Failure<<B as PollReady>::Error>> {
        let Self { machine, backend } = self;
        let deadline = drive(machine, backend, upper)?;
        if machine.is_drained() {
            return Ok(Turn::Over);
        }
        match backend.poll_ready(cx, deadline) {
            Poll::Ready(Ok(())) => Ok(Turn::Again),
            Poll::Ready(Err(error)) => Err(Failure::Backend(error)),
            Poll::Pending => Ok(Turn::Asleep),
        }
    }
}

/// What is left of a connection that is over, or whose user has gone: a future that ends it and is ready when that is done, with its
/// backend. Dropping the backend may block for a long time (`smbd-verbs` names the devices), so drop it on a thread that may block.
/// Dropping the future ends the connection at once.
#[must_use = "a connection that nobody drives does not end in order"]
pub struct Rest<B: PollReady, C: Messages = Endpoint> {
    /// `None` when it has told.
    line: Option<Line<B, C>>,
    upper: Upper<B::Buffer>,
    is_over: bool,
}

impl<B: PollReady, C: Messages> Rest<B, C> {
    /// Of one that is drained, or that cannot be driven.
    pub(super) const fn over(line: Line<B, C>, upper: Upper<B::Buffer>) -> Self {
        Self { line: Some(line), upper, is_over: true }
    }

    /// Whether the connection has ended, so that only its backend is left. The future is ready at once then.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Of one that is given up.
    pub(super) fn abandoned(mut line: Line<B, C>, mut upper: Upper<B::Buffer>) -> Self {
        upper.ignore_messages();
        line.machine.resume();
        let now = line.backend.now();
        line.machine.close(now, Close::Abort);
        Self { line: Some(line), upper, is_over: false }
    }
}

impl<B: PollReady, C: Messages> Future for Rest<B, C> {
    type Output = B;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<B> {
        let Self { line, upper, is_over } = self.get_mut();
        for _ in 0..TURNS_MAX {
            // Polled again after it was ready, it never is.
            let Some(driven) = line else { return Poll::Pending };
            let turn = if *is_over { Ok(Turn::Over) } else { driven.turn(upper, cx) };
            match turn {
                Ok(Turn::Again) => {}
                Ok(Turn::Asleep) => return Poll::Pending,
                Ok(Turn::Over) | Err(_) => {
                    return line.take().map_or(Poll::Pending, |line| Poll::Ready(line.backend));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

// Nothing in it is pinned.
impl<B: PollReady, C: Messages> Unpin for Rest<B, C> {}

impl<B: PollReady, C: Messages> fmt::Debug for Rest<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
