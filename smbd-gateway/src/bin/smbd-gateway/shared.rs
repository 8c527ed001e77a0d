//! What all connections share.

use std::sync::Arc;

use smbd_daemon::admission::Admission;
use smbd_daemon::log::Log;
use smbd_daemon::refusals::Refusals;
use tokio::sync::watch;

use crate::connections::Connections;
use crate::counters::Counters;
use crate::settings::Settings;
use crate::status::Snapshot;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    settings: watch::Sender<Arc<Settings>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) counters: Counters,
    pub(crate) connections: Connections,
    /// Whether the gateway stops. Each connection has a receiver, so that it is known when all are over.
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) refusals: Refusals,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let admission = Admission::new(settings.connections, settings.per_client);
        let (settings, stop) = (watch::Sender::new(Arc::new(settings)), watch::Sender::new(false));
        let (counters, connections) = (Counters::default(), Connections::default());
        let refusals = Refusals::default();
        Arc::new(Self { settings, admission, counters, connections, stop, refusals })
    }

    /// The settings of now. A connection keeps those of its beginning.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// The settings, as they are and as they change.
    pub(crate) fn follow_settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.subscribe()
    }

    /// Takes new settings. What is there stays: connections beyond limits, too.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.admission.set_limits(settings.connections, settings.per_client);
        self.settings.send_replace(Arc::new(settings));
    }

    /// Where lines are written.
    pub(crate) fn log(&self) -> Log {
        Log::new(self.settings.borrow().format)
    }

    /// What `smbd-gateway status` gets.
    pub(crate) fn status(&self) -> String {
        Snapshot::line(&self.connections, self.settings.borrow().connections, *self.stop.borrow())
    }
}
