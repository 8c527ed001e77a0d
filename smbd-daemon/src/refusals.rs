//! Lines about refused clients.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::log::Log;

/// One line in so much time, so that a flood of clients does not fill the log.
const PAUSE: Duration = Duration::from_secs(1);

/// When the last refused client was logged, and how many have come since.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<(Option<Instant>, u64)>);

impl Refusals {
    /// A client was refused.
    pub fn tell(&self, log: Log, client: SocketAddr, why: impl Display) {
        let Some(before) = self.count() else { return };
        let line = log.warning("client refused").with("client", client).with("why", why);
        if before > 0 { line.number("others_before", before).write() } else { line.write() }
    }

    /// Counts a client that was refused. If a line about it is due, how many were refused since the last line, without this one.
    pub fn count(&self) -> Option<u64> {
        let mut refusals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if refusals.0.is_some_and(|last| now < last + PAUSE) {
            refusals.1 = refusals.1.saturating_add(1);
            return None;
        }
        refusals.0 = Some(now);
        Some(std::mem::take(&mut refusals.1))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_clients_is_one_line_in_each_interval_and_the_rest_is_counted() {
        let refusals = Refusals::default();
        assert_eq!(refusals.count(), Some(0));
        assert!((0..1000).all(|_| refusals.count().is_none()));
        advance(PAUSE).await;
        assert_eq!(refusals.count(), Some(1000));
        advance(PAUSE).await;
        assert_eq!(refusals.count(), Some(0));
    }
}
