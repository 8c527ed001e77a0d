//! Lines about refused clients.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::log::Log;

/// One line in so much time, so that a flood of clients does not fill the log.
const PAUSE: Duration = Duration::from_secs(1);

/// Writes a line about a refused client, with the number of clients that were refused since the last line.
type Tell = Box<dyn FnOnce(u64) + Send>;

/// Clients that were refused. A line about the first one is written at once. A line about the last one of those that follow within a second
/// is written at the end of the second, with the number of the others.
#[derive(Default)]
pub struct Refusals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// When the next line may be written; nothing before the first one.
    next: Option<Instant>,
    /// The line that waits until then, and the number of clients refused before its own.
    waiting: Option<(Tell, u64)>,
}

impl std::fmt::Debug for Refusals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refusals").field("next", &lock(&self.0).next).finish_non_exhaustive()
    }
}

impl Refusals {
    /// A client was refused. To be called within a tokio runtime.
    pub fn tell(&self, log: Log, client: SocketAddr, why: impl Display) {
        let why = why.to_string();
        self.count(move |before| {
            let line = log.warning("client refused").with("client", client).with("why", why);
            if before > 0 { line.number("others_before", before).write() } else { line.write() }
        });
    }

    /// Counts a client that was refused. `tell` writes a line about it: it is called at once, or when the interval of the last line ends if
    /// no other client is refused until then. It gets the number of clients refused since the last line, without this one. To be called
    /// within a tokio runtime.
    pub fn count(&self, tell: impl FnOnce(u64) + Send + 'static) {
        let mut state = lock(&self.0);
        let now = Instant::now();
        let before = state.waiting.take().map(|(_, before)| before.saturating_add(1));
        match state.next.filter(|next| now < *next || before.is_some()) {
            None => {
                state.next = Some(now + PAUSE);
                drop(state);
                tell(0);
            }
            Some(next) => {
                state.waiting = Some((Box::new(tell), before.unwrap_or(0)));
                drop(state);
                if before.is_none() {
                    tokio::spawn(tell_at(next, Arc::clone(&self.0)));
                }
            }
        }
    }
}

/// Writes the line that waits when its time has come.
async fn tell_at(next: Instant, state: Arc<Mutex<State>>) {
    sleep_until(next).await;
    let waiting = {
        let mut state = lock(&state);
        state.next = Some(Instant::now() + PAUSE);
        state.waiting.take()
    };
    if let Some((tell, before)) = waiting {
        tell(before);
    }
}

/// Nothing that can panic happens under the lock.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Refuses clients, and returns the lines: which client each is about, and how many were refused before.
    fn refuse(refusals: &Refusals, clients: std::ops::Range<u64>) -> UnboundedReceiver<(u64, u64)> {
        let (tell, told) = unbounded_channel();
        for client in clients {
            let tell = tell.clone();
            refusals.count(move |before| tell.send((client, before)).unwrap());
        }
        told
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_clients_is_one_line_in_each_interval_and_the_rest_is_counted() {
        let (refusals, began) = (Refusals::default(), Instant::now());
        let mut told = refuse(&refusals, 0..1001);
        assert_eq!(told.recv().await, Some((0, 0)));
        assert!(told.try_recv().is_err());
        // Nobody else has to come for the others to be told.
        let rest = timeout(PAUSE * 10, told.recv()).await.expect("the rest is told");
        assert_eq!(rest, Some((1000, 999)));
        assert!((PAUSE..PAUSE * 2).contains(&began.elapsed()));
        // That line has an interval of its own.
        let mut told = refuse(&refusals, 0..2);
        assert!(told.try_recv().is_err());
        assert_eq!(told.recv().await, Some((1, 1)));
        assert!(began.elapsed() >= PAUSE * 2);
        assert_eq!(told.recv().await, None);
        sleep(PAUSE * 2).await;
        assert_eq!(refuse(&refusals, 7..8).try_recv(), Ok((7, 0)));
    }
}
