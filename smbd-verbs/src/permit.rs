//! The limits of a listener. Every accepted connection has a permit that counts against them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::request::RejectReason;

/// The most connections there may be: as in [`ListenOptions`](crate::ListenOptions).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) max_pending: u32,
    pub(crate) max_connections: u32,
    pub(crate) max_per_host: u32,
}

/// How many connections there are.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    // Shared: counted when a connection comes and when it is gone.
    connections: AtomicU32,
    // Shared: as the connections.
    pending: AtomicU32,
    /// Of each host that has one: as many entries as connections at most.
    // Shared: as the connections.
    hosts: Mutex<BTreeMap<IpAddr, u32>>,
}

impl Counts {
    pub(crate) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Nothing that can panic happens under the lock.
    fn hosts(&self) -> MutexGuard<'_, BTreeMap<IpAddr, u32>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets one connection in; given back when dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Arc<Counts>,
    host: IpAddr,
    pending: bool,
}

impl Permit {
    /// An error if a limit is reached. Only the listener's thread takes permits, so what is seen free stays free.
    pub(crate) fn take(counts: &Arc<Counts>, quota: &Quota, host: IpAddr) -> Result<Self, RejectReason> {
        let is_free = counts.connections() < quota.max_connections
            && counts.pending.load(Ordering::Relaxed) < quota.max_pending;
        if !is_free {
            return Err(RejectReason::Busy);
        }
        {
            let mut hosts = counts.hosts();
            let of_host = hosts.get(&host).copied().unwrap_or(0);
            if of_host >= quota.max_per_host {
                return Err(RejectReason::BusyWithHost);
            }
            hosts.insert(host, of_host.saturating_add(1));
        }
        counts.connections.fetch_add(1, Ordering::Relaxed);
        counts.pending.fetch_add(1, Ordering::Relaxed);
        Ok(Self { counts: Arc::clone(counts), host, pending: true })
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
        let mut hosts = self.counts.hosts();
        match hosts.get_mut(&self.host) {
            Some(count) if *count > 1 => *count = count.saturating_sub(1),
            _ => drop(hosts.remove(&self.host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Permit, Quota, RejectReason};
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn pending_connections_count_twice_and_all_are_given_back() {
        let quota = Quota { max_pending: 2, max_connections: 3, max_per_host: 3 };
        let counts = Arc::new(Counts::default());
        let take = || Permit::take(&counts, &quota, HOST).ok();
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
        assert!(counts.hosts().is_empty());
    }

    #[test]
    fn a_host_cannot_take_what_others_may_have() {
        let quota = Quota { max_pending: 9, max_connections: 9, max_per_host: 2 };
        let counts = Arc::new(Counts::default());
        let take = |host| Permit::take(&counts, &quota, host);
        let (first, second) = (take(HOST).expect("free"), take(HOST).expect("free"));
        assert_eq!(take(HOST).err(), Some(RejectReason::BusyWithHost));
        let other = take(OTHER).expect("another host");
        drop(first);
        let third = take(HOST).expect("free again");
        assert!(take(HOST).is_err());
        drop((second, third, other));
        assert!(counts.hosts().is_empty());
    }
}
