//! The limits of a listener, as something that every connection carries with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ListenOptions;

/// How many connections there are.
#[derive(Debug, Default)]
pub(super) struct Counts {
    connections: AtomicU32,
    pending: AtomicU32,
}

impl Counts {
    pub(super) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Lets one connection in; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Arc<Counts>,
    pending: bool,
}

impl Permit {
    /// `None` if a limit is reached. Only the listener's thread takes permits, so what is seen free stays free.
    pub(super) fn take(counts: &Arc<Counts>, options: &ListenOptions) -> Option<Self> {
        let is_free = counts.connections() < options.max_connections
            && counts.pending.load(Ordering::Relaxed) < options.max_pending;
        is_free.then(|| {
            counts.connections.fetch_add(1, Ordering::Relaxed);
            counts.pending.fetch_add(1, Ordering::Relaxed);
            Self { counts: Arc::clone(counts), pending: true }
        })
    }

    /// The connection is up.
    pub(crate) fn connected(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.counts.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.connected();
        self.counts.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ListenOptions;
    use super::{Counts, Permit};
    use std::sync::Arc;

    #[test]
    fn pending_connections_count_twice_and_all_are_given_back() {
        let options = ListenOptions { max_pending: 2, max_connections: 3, ..ListenOptions::default() };
        let counts = Arc::new(Counts::default());
        let take = || Permit::take(&counts, &options);
        let (mut first, second) = (take().expect("free"), take().expect("free"));
        assert!(take().is_none(), "two are pending");
        first.connected();
        first.connected();
        let third = take().expect("one is pending");
        drop(second);
        assert_eq!(counts.connections(), 2);
        let fourth = take().expect("free again");
        assert!(take().is_none(), "three connections");
        drop((first, third, fourth));
        assert_eq!(counts.connections(), 0);
    }
}
