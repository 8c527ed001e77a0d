//! Commands that the server has put off: what a lost connection has left there is still under way (3.2.5.12).

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::Instant;

use super::channels::Command;
use crate::drive::Clock;

/// How long a command waits before it is begun again, and how often it is.
const AFTER: Duration = Duration::from_millis(250);
const TRIES: u16 = 80;

/// Commands that are begun again after a while, in order.
pub(super) struct Later<C: Clock> {
    clock: C,
    waiting: VecDeque<(Instant, Command)>,
    /// Ready when the first of them is to begin.
    timer: Option<(Instant, Pin<Box<C::Sleep>>)>,
}

impl<C: Clock> Later<C> {
    pub(super) const fn new(clock: C) -> Self {
        Self { clock, waiting: VecDeque::new(), timer: None }
    }

    /// Puts a command off; `Err` if it was too often.
    pub(super) fn put(&mut self, mut command: Command) -> Result<(), Command> {
        if command.tries >= TRIES {
            return Err(command);
        }
        command.tries = command.tries.saturating_add(1);
        self.waiting.push_back((self.clock.now().saturating_add(AFTER), command));
        Ok(())
    }

    /// The next one whose time has come. If there is none, the task is woken then.
    pub(super) fn next(&mut self, cx: &mut Context<'_>) -> Option<Command> {
        let (at, _) = self.waiting.front()?;
        let wait = || (*at, Box::pin(self.clock.sleep_until(*at)));
        let (until, sleep) = self.timer.get_or_insert_with(wait);
        if until != at {
            (*until, *sleep) = wait();
        }
        match sleep.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.timer = None;
                self.waiting.pop_front().map(|(_, command)| command)
            }
            Poll::Pending => None,
        }
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Command> + use<C> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, command)| command)
    }
}
