//! What all connections share.

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::admission::Admission;
use smbd_daemon::drain::END_WITHIN;
use smbd_daemon::status::Socket;
use smbd_daemon::tasks::{Basic, Core};
use smbd_daemon::trouble::Trouble;
use smbd_daemon::{metrics, status};

use crate::basics::Basics;
use crate::connections::{Connections, memory};
use crate::counters::Counters;
use crate::status::Snapshot;

/// What all connections of a direction share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    pub(crate) core: Core<S>,
    pub(crate) counters: Counters,
    pub(crate) connections: Connections,
}

impl<S: AsRef<Basics> + Basic + Send + Sync + 'static> Shared<S> {
    pub(crate) fn new(settings: S) -> Arc<Self> {
        let &Basics { connections, per_client, .. } = settings.as_ref();
        let core = Core::new(settings, Admission::new(connections, per_client));
        Arc::new(Self { core, counters: Counters::default(), connections: Connections::default() })
    }

    /// What `smbd-gateway status` gets.
    pub(crate) fn status(&self) -> String {
        let connections = (*self.core.settings()).as_ref().connections;
        Snapshot::line(&self.connections, connections, *self.core.stop.borrow())
    }

    /// Writes that the gateway has started, and lets others ask for its metrics and its status, which is at `status` usually. As long as what
    /// is returned is kept.
    pub(crate) async fn start(self: &Arc<Self>, status: &str) -> Result<Option<Socket>, Trouble> {
        let settings = self.core.settings();
        let basics = (*settings).as_ref();
        let line = self.core.log().line("started").with("version", env!("CARGO_PKG_VERSION"));
        let line = line.number("connections_max", basics.connections.into());
        line.number("bytes_each", basics.each).write();
        let counted = Arc::clone(self);
        let text = move || counted.counters.text(&counted.core, memory(&counted.connections));
        metrics::open(basics.metrics, text).await?;
        let told = Arc::clone(self);
        status::open(basics.status.as_deref(), status, basics.status_mode, self.core.log(), move || {
            told.status()
        })
    }

    /// Has all connections end, and writes that. Returns how long that may take.
    pub(crate) fn stop(&self) -> Duration {
        let drain = (*self.core.settings()).as_ref().drain;
        let line =
            self.core.log().line("stopping").number("connections", self.core.admission.connections().into());
        line.number("deadline_s", drain.as_secs()).write();
        self.core.stop.send_replace(true);
        drain.saturating_add(END_WITHIN)
    }
}
