//! The connections that there are now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// All connections, with what is known of each. Clones name the same.
#[derive(Debug)]
pub struct Live<T>(Arc<Mutex<State<T>>>);

#[derive(Debug)]
struct State<T> {
    next: u64,
    live: BTreeMap<u64, (Instant, T)>,
}

/// A connection among the others; it is one no longer when this is dropped.
#[derive(Debug)]
pub struct Entry<T> {
    all: Live<T>,
    id: u64,
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Live<T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { next: 0, live: BTreeMap::new() })))
    }
}

impl<T> Live<T> {
    /// What panics under the lock breaks nothing of it.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection that is new.
    #[must_use]
    pub fn add(&self, known: T) -> Entry<T> {
        let mut state = self.state();
        let id = state.next;
        state.next = state.next.wrapping_add(1);
        state.live.insert(id, (Instant::now(), known));
        Entry { all: self.clone(), id }
    }

    /// What `of` makes of each connection and how long it has been there, the oldest first.
    pub fn list<R>(&self, of: impl Fn(&T, Duration) -> R) -> Vec<R> {
        let now = Instant::now();
        let state = self.state();
        state.live.values().map(|(since, known)| of(known, now.saturating_duration_since(*since))).collect()
    }
}

impl<T> Entry<T> {
    /// Changes what is known of the connection.
    pub fn update(&self, change: impl FnOnce(&mut T)) {
        if let Some((_, known)) = self.all.state().live.get_mut(&self.id) {
            change(known);
        }
    }
}

impl<T> Drop for Entry<T> {
    fn drop(&mut self) {
        let removed = self.all.state().live.remove(&self.id);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_listed_with_its_age_and_what_it_did_last_until_it_is_over() {
        let all = Live::default();
        let first = all.add(1);
        tokio::time::advance(Duration::from_secs(2)).await;
        let second = all.add(10);
        tokio::time::advance(Duration::from_secs(1)).await;
        second.update(|known| *known = 11);
        let list = || all.list(|known, age| (*known, age.as_secs()));
        assert_eq!(list(), [(1, 3), (11, 1)]);
        drop(first);
        assert_eq!(list(), [(11, 1)]);
        drop(second);
        assert_eq!(list(), []);
    }
}
