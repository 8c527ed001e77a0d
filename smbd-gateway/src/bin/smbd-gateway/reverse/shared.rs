//! What all connections share.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::watch;

use super::settings::Settings;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::status::Snapshot;
use smbd_daemon::admission::Admission;
use smbd_daemon::log::Log;
use smbd_daemon::refusals::Refusals;

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) admission: Arc<Admission>,
    pub(super) counters: Counters,
    pub(super) log: Log,
    /// Whether it stops. Each connection has a receiver, so that it is known when all are over.
    pub(super) stop: watch::Sender<bool>,
    pub(super) connections: Connections,
    refusals: Refusals,
}

impl Shared {
    pub(super) fn new(settings: Settings) -> Arc<Self> {
        let admission = Admission::new(settings.connections, settings.per_client);
        let (log, stop) = (Log::new(settings.format), watch::Sender::new(false));
        let (counters, refusals) = (Counters::default(), Refusals::default());
        Arc::new(Self {
            settings,
            admission,
            counters,
            log,
            stop,
            connections: Connections::default(),
            refusals,
        })
    }

    /// What `smbd-gateway status` gets.
    pub(super) fn status(&self) -> String {
        Snapshot::line(&self.connections, self.settings.connections, *self.stop.borrow())
    }

    /// A client was refused.
    pub(super) fn refused(&self, client: SocketAddr, why: impl std::fmt::Display) {
        Counters::add(&self.counters.refused, 1);
        self.refusals.tell(self.log, client, why);
    }
}
