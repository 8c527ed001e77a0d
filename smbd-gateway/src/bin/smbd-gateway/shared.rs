//! What all connections share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::admission::Admission;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::log::Log;
use crate::settings::Settings;
use crate::status::{Row, Snapshot};

/// One line about refused clients in so much time, so that a flood of them does not fill the log.
const PAUSE: Duration = Duration::from_secs(1);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    settings: watch::Sender<Arc<Settings>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) counters: Counters,
    pub(crate) connections: Connections,
    /// Whether the gateway stops. Each connection has a receiver, so that it is known when all are over.
    pub(crate) stop: watch::Sender<bool>,
    /// When the last refused client was logged, and how many have come since.
    refusals: Mutex<(Option<Instant>, u64)>,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        let admission = Admission::new(settings.connections, settings.per_client);
        let (settings, stop) = (watch::Sender::new(Arc::new(settings)), watch::Sender::new(false));
        let (counters, connections) = (Counters::default(), Connections::default());
        let refusals = Mutex::default();
        Arc::new(Self { settings, admission, counters, connections, stop, refusals })
    }

    /// The settings of now. A connection keeps those of its beginning.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Tells of new settings.
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

    /// What `smbd-gateway status` gets: a line of JSON.
    pub(crate) fn status(&self) -> String {
        let snapshot = Snapshot {
            version: env!("CARGO_PKG_VERSION").into(),
            is_stopping: *self.stop.borrow(),
            connections_max: self.settings.borrow().connections,
            memory: self.connections.memory(),
            connections: self.connections.list().iter().map(Row::from).collect(),
        };
        serde_json::to_string(&snapshot).unwrap_or_default() + "\n"
    }

    /// A client was refused.
    pub(crate) fn refused(&self, client: SocketAddr, why: impl std::fmt::Display) {
        Counters::add(&self.counters.refused, 1);
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if refusals.0.is_some_and(|last| now < last + PAUSE) {
            refusals.1 = refusals.1.saturating_add(1);
            return;
        }
        let before = std::mem::take(&mut refusals.1);
        refusals.0 = Some(now);
        drop(refusals);
        let line = self.log().line("client refused").with("client", client).with("why", why);
        if before > 0 { line.number("others_before", before).write() } else { line.write() }
    }
}
