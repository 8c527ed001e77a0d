//! Commands that the server has put off: what a lost connection has left there is still under way (3.2.5.12).

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::channels::Command;

/// How long a command waits before it is begun again the first time, and at most. Each time is twice the last one: what is written goes to
/// the server again with each.
const AFTER: Duration = Duration::from_millis(250);
const AFTER_MAX: Duration = Duration::from_secs(4);
/// How long a server may take to find out that a connection is lost of which nobody tells it. The timers of SMB Direct take 125 s
/// (MS-SMBD 3.1.6.2), those of TCP a minute or two where a server asks for them.
const WITHIN: Duration = Duration::from_secs(180);

/// Commands that are begun again after a while, in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Later {
    waiting: VecDeque<(Instant, Command)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Later {
    /// Puts a command off. Returns it if that has gone on for too long.
    pub(super) fn put(&mut self, mut command: Command) -> Option<Command> {
        let now = Instant::now();
        let (since, after) = match command.put_off {
            None => (now, AFTER),
            Some((since, last)) => (since, last.saturating_mul(2).min(AFTER_MAX)),
        };
        if now.saturating_duration_since(since) > WITHIN {
            return Some(command);
        }
        command.put_off = Some((since, after));
        let at = now + after;
        let place = self.waiting.partition_point(|(other, _)| *other <= at);
        self.waiting.insert(place, (at, command));
        None
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
