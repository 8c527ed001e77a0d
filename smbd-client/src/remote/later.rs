//! Commands that the server has put off: what a lost connection has left there is still under way (3.2.5.12).

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::Instant;

use super::channels::Command;
use crate::drive::Clock;

/// How long a command waits before it is begun again the first time, and at most. Each time is twice the last one: what is written goes to
/// the server again with each.
const AFTER: Duration = Duration::from_millis(250);
const AFTER_MAX: Duration = Duration::from_secs(4);
/// How long a server may take to find out that a connection is lost of which nobody tells it. The timers of SMB Direct take 125 s
/// (MS-SMBD 3.1.6.2), those of TCP a minute or two where a server asks for them.
const WITHIN: Duration = Duration::from_secs(180);

/// Commands that are begun again after a while, in the order of their times.
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

    /// Puts a command off. Returns it if that has gone on for too long.
    pub(super) fn put(&mut self, mut command: Command) -> Option<Command> {
        let (waited, after) = match command.put_off {
            None => (Duration::ZERO, AFTER),
            Some((waited, last)) => (waited, last.saturating_mul(2).min(AFTER_MAX)),
        };
        if waited > WITHIN {
            return Some(command);
        }
        command.put_off = Some((waited.saturating_add(after), after));
        let at = self.clock.now().saturating_add(after);
        let place = self.waiting.partition_point(|(other, _)| *other <= at);
        self.waiting.insert(place, (at, command));
        None
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
