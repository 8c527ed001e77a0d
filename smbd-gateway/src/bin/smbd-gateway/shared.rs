//! What all connections share.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::admission::Admission;
use smbd_daemon::drain::END_WITHIN;
use smbd_daemon::log::Log;
use smbd_daemon::refusals::Refusals;
use smbd_daemon::status::Socket;
use smbd_daemon::trouble::Trouble;
use smbd_daemon::{metrics, status};
use tokio::sync::watch;

use crate::basics::Basics;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::status::Snapshot;

/// What all connections of a direction share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    settings: watch::Sender<Arc<S>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) counters: Counters,
    pub(crate) connections: Connections,
    /// Whether the gateway stops. Each connection has a receiver, so that it is known when all are over.
    pub(crate) stop: watch::Sender<bool>,
    refusals: Refusals,
}

impl<S: AsRef<Basics> + Send + Sync + 'static> Shared<S> {
    pub(crate) fn new(settings: S) -> Arc<Self> {
        let &Basics { connections, per_client, .. } = settings.as_ref();
        let admission = Admission::new(connections, per_client);
        let (settings, stop) = (watch::Sender::new(Arc::new(settings)), watch::Sender::new(false));
        let (counters, connections) = (Counters::default(), Connections::default());
        let refusals = Refusals::default();
        Arc::new(Self { settings, admission, counters, connections, stop, refusals })
    }

    /// The settings of now. A connection keeps those of its beginning.
    pub(crate) fn settings(&self) -> Arc<S> {
        Arc::clone(&self.settings.borrow())
    }

    /// The settings, as they are and as they change.
    pub(crate) fn follow_settings(&self) -> watch::Receiver<Arc<S>> {
        self.settings.subscribe()
    }

    /// Takes new settings. What is there stays: connections beyond limits, too.
    pub(crate) fn set_settings(&self, settings: S) {
        let &Basics { connections, per_client, .. } = settings.as_ref();
        self.admission.set_limits(connections, per_client);
        self.settings.send_replace(Arc::new(settings));
    }

    /// Where lines are written.
    pub(crate) fn log(&self) -> Log {
        Log::new((**self.settings.borrow()).as_ref().format)
    }

    /// What `smbd-gateway status` gets.
    pub(crate) fn status(&self) -> String {
        let connections = (**self.settings.borrow()).as_ref().connections;
        Snapshot::line(&self.connections, connections, *self.stop.borrow())
    }

    /// A client was refused.
    pub(crate) fn refused(&self, client: SocketAddr, why: impl Display) {
        Counters::add(&self.counters.refused, 1);
        self.refusals.tell(self.log(), client, why);
    }

    /// Writes that the gateway has started, and lets others ask for its metrics and its status, which is at `status` usually. As long as what
    /// is returned is kept.
    pub(crate) async fn start(self: &Arc<Self>, status: &str) -> Result<Option<Socket>, Trouble> {
        let settings = self.settings();
        let basics = (*settings).as_ref();
        let line = self.log().line("started").with("version", env!("CARGO_PKG_VERSION"));
        let line = line.number("connections_max", basics.connections.into());
        line.number("bytes_each", basics.each).write();
        let counted = Arc::clone(self);
        let text =
            move || counted.counters.text(counted.admission.connections(), counted.connections.memory());
        metrics::open(basics.metrics, text).await?;
        let told = Arc::clone(self);
        status::open(basics.status.as_deref(), status, basics.status_mode, self.log(), move || told.status())
    }

    /// Has all connections end, and writes that. Returns how long that may take.
    pub(crate) fn stop(&self) -> Duration {
        let drain = (*self.settings()).as_ref().drain;
        let line = self.log().line("stopping").number("connections", self.admission.connections().into());
        line.number("deadline_s", drain.as_secs()).write();
        self.stop.send_replace(true);
        drain.saturating_add(END_WITHIN)
    }
}
