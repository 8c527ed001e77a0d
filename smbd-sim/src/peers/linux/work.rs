//! Deferred work, which sleeps if it needs a send credit and there is none.

use std::time::Duration;

use smbd_core::Instant;

/// Where a question for an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeepAlive {
    None,
    Pending,
    Sent,
}

/// One item of a work queue: queued at most once, and never run twice at a time.
#[derive(Debug, Default)]
pub(super) struct Work {
    at: Option<Instant>,
    asleep: bool,
    again: bool,
}

impl Work {
    /// Runs it soon; afterwards, if it runs already.
    pub(super) fn queue(&mut self, now: Instant, put_off: Duration) {
        if self.asleep {
            self.again = true;
        } else if self.at.is_none() {
            self.at = Some(now.saturating_add(put_off));
        }
    }

    /// When it is to be run.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.at
    }

    /// Whether it is to be run now. Then it is.
    pub(super) fn run(&mut self, now: Instant) -> bool {
        let due = self.at.is_some_and(|at| at <= now);
        if due {
            self.at = None;
        }
        due
    }

    /// It has to wait for a send credit.
    pub(super) const fn sleep(&mut self) {
        self.asleep = true;
    }

    /// Whether it waits for a send credit.
    pub(super) const fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// It has one.
    pub(super) fn wake(&mut self, now: Instant, put_off: Duration) {
        self.asleep = false;
        if std::mem::take(&mut self.again) {
            self.queue(now, put_off);
        }
    }
}
