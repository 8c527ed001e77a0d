//! Logs rejected requests, at a limited rate so that a flood of them does not fill the log.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::Instant;
use smbd_verbs::RejectReason;

use crate::say::say;

/// One line in so much time.
const PAUSE: Duration = Duration::from_secs(1);

/// What was said of them.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    said_at: Option<Instant>,
    /// How many there had been then.
    said: u64,
}

impl Refusals {
    /// There was another one: the last of `all`.
    pub(crate) fn note(&mut self, now: Instant, peer: SocketAddr, reason: RejectReason, all: u64) {
        if self.said_at.is_some_and(|at| now < at.saturating_add(PAUSE)) {
            return;
        }
        let others = all.saturating_sub(self.said).saturating_sub(1);
        let others = if others == 0 { String::new() } else { format!(", and {others} before it") };
        say(format_args!("{peer} was refused: {reason}{others}"));
        (self.said_at, self.said) = (Some(now), all);
    }
}
