//! Commands that the server has put off: what a lost connection has left there is still under way (3.2.5.12).

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::channels::Command;

/// How long a command waits before it is begun again, and how often it is.
const AFTER: Duration = Duration::from_millis(250);
const TRIES: u16 = 80;

/// Commands that are begun again after a while, in order.
#[derive(Debug, Default)]
pub(super) struct Later {
    waiting: VecDeque<(Instant, Command)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Later {
    /// Puts a command off; `Err` if it was too often.
    pub(super) fn put(&mut self, mut command: Command) -> Result<(), Command> {
        if command.tries >= TRIES {
            return Err(command);
        }
        command.tries = command.tries.saturating_add(1);
        self.waiting.push_back((Instant::now() + AFTER, command));
        Ok(())
    }

    /// The next one whose time has come. If there is none, the task is woken then.
    pub(super) fn next(&mut self, cx: &mut Context<'_>) -> Option<Command> {
        let (at, _) = self.waiting.front()?;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(*at)));
        if timer.deadline() != *at {
            timer.as_mut().reset(*at);
        }
        match timer.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.timer = None;
                self.waiting.pop_front().map(|(_, command)| command)
            }
            Poll::Pending => None,
        }
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Command> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, command)| command)
    }
}
