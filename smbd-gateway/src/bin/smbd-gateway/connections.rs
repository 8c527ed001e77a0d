//! The connections that there are now.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smbd_smb2::relay::Bytes;
use tokio::time::Instant;

use crate::report::Kind;

/// What log lines name of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The gateway's own port towards the server, by which the server's log knows the client.
    pub(crate) server_port: u16,
}

/// A connection as it was seen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) names: Names,
    pub(crate) kind: Kind,
    pub(crate) bytes: Bytes,
    /// Bytes that are allocated for its device and for RDMA.
    pub(crate) memory: u64,
    /// How long it has been there.
    pub(crate) age: Duration,
}

/// All connections. Clones name the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    live: BTreeMap<u64, (Instant, Live)>,
}

/// A connection among the others; it is one no longer when this is dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    all: Connections,
    id: u64,
}

impl Connections {
    /// Nothing that can panic happens under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection that is new.
    pub(crate) fn add(&self, names: Names, memory: u64) -> Entry {
        let live =
            Live { names, kind: Kind::default(), bytes: Bytes::default(), memory, age: Duration::ZERO };
        let mut state = self.state();
        let id = state.next;
        state.next = state.next.wrapping_add(1);
        state.live.insert(id, (Instant::now(), live));
        Entry { all: self.clone(), id }
    }

    /// All of them, the oldest first.
    pub(crate) fn list(&self) -> Vec<Live> {
        let now = Instant::now();
        let aged =
            |(since, live): &(Instant, Live)| Live { age: now.saturating_duration_since(*since), ..*live };
        self.state().live.values().map(aged).collect()
    }

    /// Bytes that are allocated for all of them.
    pub(crate) fn memory(&self) -> u64 {
        self.state().live.values().fold(0, |sum, (_, live)| sum.saturating_add(live.memory))
    }
}

impl Entry {
    /// What the connection was seen to do by now.
    pub(crate) fn update(&self, kind: Kind, bytes: Bytes, memory: u64) {
        if let Some((_, live)) = self.all.state().live.get_mut(&self.id) {
            (live.kind, live.bytes, live.memory) = (kind, bytes, memory);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.state().live.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(client: &str) -> Names {
        Names {
            client: client.parse().unwrap(),
            server: "127.0.0.1:445".parse().unwrap(),
            server_port: 35000,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_listed_with_its_age_and_what_it_did_last_until_it_is_over() {
        let all = Connections::default();
        let (first, second) = (all.add(names("10.9.0.2:1"), 5), all.add(names("10.9.0.3:1"), 5));
        tokio::time::advance(Duration::from_secs(3)).await;
        let mut bytes = Bytes::default();
        bytes.rdma_read = 7;
        let kind = Kind { has_session: true, ..Kind::default() };
        second.update(kind, bytes, 8);
        let listed = all.list();
        assert_eq!(listed.iter().map(|live| live.age.as_secs()).collect::<Vec<_>>(), [3, 3]);
        assert_eq!((listed[0].names, listed[0].kind), (names("10.9.0.2:1"), Kind::default()));
        assert_eq!((listed[1].kind, listed[1].bytes), (kind, bytes));
        assert_eq!((listed[0].memory, listed[1].memory, all.memory()), (5, 8, 13));
        drop(first);
        assert_eq!(all.list()[..], [listed[1]]);
        drop(second);
        assert!(all.list().is_empty());
    }
}
