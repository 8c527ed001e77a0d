//! What all connections share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::settings::Settings;
use crate::admission::Admission;
use crate::counters::Counters;
use crate::log::Log;
use crate::refusals::Refusals;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) admission: Arc<Admission>,
    pub(super) counters: Counters,
    pub(super) log: Log,
    /// Whether it stops. Each connection has a receiver, so that it is known when all are over.
    pub(super) stop: watch::Sender<bool>,
    refusals: Refusals,
    /// Bytes of buffers of all connections.
    memory: AtomicU64,
}

impl Shared {
    pub(super) fn new(settings: Settings) -> Arc<Self> {
        let admission = Admission::new(settings.connections, settings.per_client);
        let (log, stop) = (Log::new(settings.format), watch::Sender::new(false));
        let (counters, refusals) = (Counters::default(), Refusals::default());
        Arc::new(Self { settings, admission, counters, log, stop, refusals, memory: AtomicU64::new(0) })
    }

    /// Bytes that are allocated for all connections.
    pub(super) fn memory(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// A connection had `before` bytes, and has `now`.
    pub(super) fn set_memory(&self, before: u64, now: u64) {
        self.memory.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// A client was refused.
    pub(super) fn refused(&self, client: SocketAddr, why: impl std::fmt::Display) {
        Counters::add(&self.counters.refused, 1);
        self.refusals.tell(self.log, client, why);
    }
}
